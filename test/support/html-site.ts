import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { convert } from '../../packages/archive/src/convert.ts'
import { Report, type Written } from '../../packages/archive/src/formats/format.ts'
import { htmlWriter } from '../../packages/archive/src/formats/html/write-html.ts'
import type { Folder } from '../../packages/archive/src/tar/read-folder.ts'
import type { Bytes } from '../../packages/lib/src/bytes.ts'
import { temporaryFolder } from './archive-samples.ts'
import { type GitHost, gitHost } from './git-host.ts'
import {
  DISCUSSED_FILES,
  discussedRecords,
  makeDiscussedRepositories,
  type RecordLists,
  writeUnpackedArchive,
} from './gitea-archive.ts'

type Cleanup = Pick<TestContext, 'after'>

/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const README = `# The site of alice

[Install](#install) it, read the [guide](docs/guide.md), or see #3.

<p align="center"><img src="docs/logo.png" alt="Logo"></p>

## Install

| step | what |
|--:|:-:|
| 1 | \`npm ci\` |

- [x] done
- [ ] to do
`

const HOSTILE_BODY = `<script>document.title = 'run'</script> <img src=x onerror="document.title = 'run'">

[click](javascript:alert(1)) reversed \u202etxt.exe

</div></article></main>

![tracker](https://evil.example/pixel.png) and ![shot](https://old.example.com/user-attachments/assets/u4)

[drawing](https://old.example.com/user-attachments/assets/u5) [other](../../../../etc/passwd)

See #3, alice/site#1, corp/quiet#7 and https://old.example.com/alice/site/issues/1#issuecomment-12, @bob.`

/** Makes an unpacked archive with everything that the pages of a site can show. */
export async function makeReadableArchive(t: Cleanup): Promise<{ archive: string; host: GitHost }> {
  const host = await gitHost()
  t.after(() => host.remove())
  const records = discussedRecords(await makeDiscussedRepositories(host))
  const dir = host.path('alice/site')
  await host.commit(dir, { 'README.md': README, 'docs/logo.png': 'a logo', 'docs/guide.md': '' })
  await host.commit(`${dir.replace(/\.git$/, '')}.wiki.git`, {
    'Home.md': '# Home\n\n[[Second page]] and [again](Second-page).\n',
    'Second-page.md': '# Second\n\n[Home](Home)\n',
    'notes/Old.rst': 'Old <notes>',
  })
  // This wiki has a tag, but no branch.
  const tagged = await host.repository('corp/quiet.wiki', { files: { 'Home.md': 'Only tagged' } })
  await host.git(['update-ref', 'refs/tags/old', 'HEAD'], { dir: tagged })
  await host.git(['update-ref', '-d', 'HEAD'], { dir: tagged })
  const [first, second] = records.issues!
  const pulls = records.pull_requests!.map((pull) => ({
    ...pull,
    head: { ...pull.head, repository: pull.head.repository && 'Alice/Site' },
  }))
  const attachment = (uuid: string, name: string, number: number) => ({
    ...{ repository: 'alice/site', author: 'bob', createdAt: '2021-03-06T12:00:00Z' },
    ...{
      uuid,
      name,
      contentType: 'image/png',
      file: `attachments/${uuid}/${name.replace('../', '')}`,
    },
    on: { kind: 'issue' as const, number },
  })
  const changed: RecordLists = {
    ...records,
    users: [person('bob', 'Bob the Builder')],
    issues: [
      { ...first!, title: 'A <b>bold</b> title \u202eevil', body: 'First things first.' },
      { ...second!, body: HOSTILE_BODY, title: 'Hostile text' },
    ],
    pull_requests: [...pulls, pulls[0]!],
    attachments: [
      ...records.attachments!,
      attachment('u4', '../shot.png', 2),
      attachment('u5', 'drawing.svg', 2),
      attachment('u6', 'extra.png', 1),
    ],
  }
  const files = {
    ...DISCUSSED_FILES,
    'attachments/u4/shot.png': PIXEL,
    'attachments/u5/drawing.svg':
      '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>',
    'attachments/u6/extra.png': PIXEL,
  }
  const folder = await temporaryFolder(t)
  const archive = await writeUnpackedArchive(join(folder, 'archive'), host, changed, files)
  return { archive, host }
}

const person = (login: string, name: string) => ({
  ...{ login, name, bio: null, company: null, website: null, location: null, emails: [] },
  ...{ avatar: null, createdAt: '2020-01-01T00:00:00Z' },
})

/** Converts an archive to a site and returns its directory, with the report. Interrupts it after one repository if that is named. */
export async function convertToHtml(
  t: Cleanup,
  { godwitGit: git }: Pick<GitHost, 'godwitGit'>,
  open: () => Bytes | Folder,
  { output, stopAfter }: { output?: string; stopAfter?: string } = {},
) {
  const directory = output ?? join(await temporaryFolder(t), 'site')
  const warnings: string[] = []
  const report = new Report((text) => warnings.push(text))
  const stop = new AbortController()
  const dependencies = {
    ...{ git, report, repositories: [], owner: 'alice', people: new Map() },
    inputs: [{ name: 'archive', open }],
    into: join(directory, '..'),
    numbersFile: `${directory}.csv`,
    createWriter: (workDirectory: string) =>
      htmlWriter({
        ...{ git, output: directory, workDirectory, generator: 'godwit test' },
        now: new Date('2026-01-02T03:04:05Z'),
      }),
  }
  const written: Written[] = []
  for await (const each of convert(dependencies, stop.signal)) {
    written.push(each)
    if (each.fullName === stopAfter) stop.abort()
  }
  return { directory, written, warnings, losses: report.end() }
}
