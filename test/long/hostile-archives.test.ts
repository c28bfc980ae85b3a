import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { convert } from '../../packages/archive/src/convert.ts'
import { type FormatWriter, Report } from '../../packages/archive/src/formats/format.ts'
import { giteaDumpWriter } from '../../packages/archive/src/formats/gitea-dump/write-gitea-dump.ts'
import { githubArchiveWriter } from '../../packages/archive/src/formats/github-archive/write-github-archive.ts'
import { gitlabExportWriter } from '../../packages/archive/src/formats/gitlab-export/write-gitlab-export.ts'
import { htmlWriter } from '../../packages/archive/src/formats/html/write-html.ts'
import type { Folder } from '../../packages/archive/src/tar/read-folder.ts'
import { verifyArchive } from '../../packages/archive/src/verify-archive.ts'
import type { Bytes } from '../../packages/lib/src/bytes.ts'
import { temporaryFolder } from '../support/archive-samples.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { writeUnpackedArchive } from '../support/gitea-archive.ts'
import { readDump } from '../support/gitea-dump-reader.ts'
import { filesOf, HOSTILE_REPOSITORY, hostileRecords } from '../support/hostile-records.ts'

let host: GitHost
before(async () => {
  host = await gitHost()
  await host.repository(HOSTILE_REPOSITORY, { files: { 'README.md': '# Site' } })
})
after(() => host.remove())

const { signal } = new AbortController()

async function convertTo(
  open: () => Bytes | Folder,
  into: string,
  createWriter: (workDirectory: string) => FormatWriter,
) {
  const report = new Report(() => {})
  const dependencies = { git: host.godwitGit, people: new Map(), into, report, createWriter }
  const more = { repositories: [HOSTILE_REPOSITORY], owner: 'alice', numbersFile: `${into}.csv` }
  const inputs = [{ name: 'site', open }]
  const written = await Array.fromAsync(convert({ ...dependencies, ...more, inputs }, signal))
  assert.deepEqual(written, [{ fullName: HOSTILE_REPOSITORY, errors: [] }])
}

/** Asserts that an archive has neither errors nor records that are ignored. */
async function verify(t: TestContext, file: string) {
  const dependencies = { git: host.godwitGit, directory: await temporaryFolder(t), file }
  const findings = await Array.fromAsync(
    verifyArchive(dependencies, createReadStream(file), signal),
  )
  const texts = findings.flatMap((each) => ('text' in each ? [`${each.level}: ${each.text}`] : []))
  assert.deepEqual(
    texts.filter((text) => /^(?:error|warning)/.test(text)),
    [],
    file,
  )
  assert.ok(texts.some((text) => text.startsWith('verified: ')))
}

/** Converts an input to every format, and reads each output again. Returns the archives among them. */
async function convertToAll(t: TestContext, open: () => Bytes | Folder) {
  const root = await temporaryFolder(t)
  const at = async (name: string) => {
    await mkdir(join(root, name))
    return join(root, name)
  }
  const { godwitGit: git } = host
  const people = new Map()
  const archive = join(await at('archive'), 'out.tar.gz')
  await convertTo(open, join(root, 'archive'), (workDirectory) =>
    githubArchiveWriter({ output: archive, workDirectory, generator: 'test', now: () => 0 }),
  )
  await verify(t, archive)
  const dumps = await at('dumps')
  await convertTo(open, dumps, (workDirectory) =>
    giteaDumpWriter({ git, into: dumps, workDirectory, people, keepLinks: false, forge: '' }),
  )
  readDump(join(dumps, HOSTILE_REPOSITORY))
  const exports = await at('exports')
  await convertTo(open, exports, (workDirectory) =>
    gitlabExportWriter({ git, into: exports, workDirectory, people, assetBaseUrl: '' }),
  )
  const exported = join(exports, `${HOSTILE_REPOSITORY}_export.tar.gz`)
  await verify(t, exported)
  const html = join(await at('html'), 'site')
  await convertTo(open, join(root, 'html'), (workDirectory) =>
    htmlWriter({ git, output: html, workDirectory, generator: 'test', now: new Date(0) }),
  )
  assert.ok((await readdir(html)).includes('index.html'))
  return { archive, exported }
}

test('what is written in any format from hostile records is accepted by the reader of that format', async (t) => {
  const property = fc.asyncProperty(hostileRecords, async (records) => {
    const folder = join(await temporaryFolder(t), 'input')
    await writeUnpackedArchive(folder, host, {}, filesOf(records))
    const { exported } = await convertToAll(t, () => ({ folder }))
    await convertToAll(t, () => createReadStream(exported))
  })
  // One run has hundreds of values. A failure is shown by its seed: a smaller example would take minutes to find.
  await fc.assert(property, { numRuns: 1, endOnFailure: true })
})
