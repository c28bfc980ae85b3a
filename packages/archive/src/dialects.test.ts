import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { appendFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { needs, runTool } from '../../../test/support/archive-tools.ts'
import { packFilesOnly } from '../../../test/support/archive-writers.ts'
import { cleanupAfterFile } from '../../../test/support/file-cleanup.ts'
import { REAL_ARCHIVE } from '../../../test/support/real-archive.ts'
import {
  errorsIn,
  fileOf,
  notesIn,
  packedRefsOf,
  type RestoreScene,
  refsOf,
  restoreScene,
  verifiedIn,
  warningsIn,
} from '../../../test/support/restore-scene.ts'
import { initBare, git as plainGit } from '../../../test/support/sample-repositories.ts'
import type { Bytes } from '../../lib/src/bytes.ts'
import type { Folder } from './tar/read-folder.ts'
import type { Finding } from './verify-archive.ts'

// Archives that other programs packed again: test/long/archive-writers.test.ts.

const t = cleanupAfterFile()
let base: string
let ours: string
let oursPacked: string
let real: string
let verified: RestoreScene['verified']
let restored: RestoreScene['restored']

before(async () => {
  ;({ base, ours, oursPacked, real, verified, restored } = await restoreScene(t))
})

describe('an archive of github.com', { ...REAL_ARCHIVE.needed, concurrency: 2 }, () => {
  const NAME = 'go-gitea/test_repo'
  const packedRefs = () =>
    readFileSync(join(real, `repositories/${NAME}.git/packed-refs`), 'utf8')
      .split('\n')
      .filter((line) => /^[0-9a-f]{40} /.test(line))
      .sort()

  async function assertVerified(open: () => Bytes | Folder): Promise<void> {
    const findings = await verified(open)
    assert.deepEqual(errorsIn(findings), [])
    assert.deepEqual(verifiedIn(findings), [NAME])
    assert.deepEqual(findings.at(-1), { compared: false })
  }

  async function assertRestored(open: () => Bytes | Folder): Promise<void> {
    await assertVerified(open)
    const { into } = await restored(open)
    assert.deepEqual(refsOf(join(into, `${NAME}.git`)).sort(), packedRefs())
    plainGit(join(into, `${NAME}.git`), ['fsck', '--full', '--strict'])
  }

  test('is restored from the file and from the unpacked directory', async () => {
    await assertRestored(fileOf(REAL_ARCHIVE.file))
    await assertRestored(() => ({ folder: real }))
  })

  test('is restored if it was packed with its folder', needs('GNU tar'), async () => {
    const archive = join(mkdtempSync(join(base, 'packed-')), 'archive')
    await runTool('GNU tar', ['-czf', archive, '-C', base, 'real'])
    await assertRestored(fileOf(archive))
  })

  test(
    'is restored from an archive without directories, in reverse order',
    needs('Python'),
    async () => {
      const bare = join(mkdtempSync(join(base, 'bare-')), 'real')
      await cp(real, bare, { recursive: true })
      // Some programs leave empty directories out.
      for (const empty of ['refs', 'branches', 'hooks', 'logs'])
        await rm(join(bare, `repositories/${NAME}.git`, empty), { recursive: true, force: true })
      await packFilesOnly(bare, `${bare}.tar.gz`)
      await assertRestored(fileOf(`${bare}.tar.gz`))
    },
  )

  test('is restored from a directory in which macOS left its metadata', async () => {
    const folder = join(mkdtempSync(join(base, 'mac-')), 'real')
    await cp(real, folder, { recursive: true })
    for (const path of [
      '._schema.json',
      'repositories/._go-gitea',
      `repositories/go-gitea/._x.git`,
    ])
      await writeFile(join(folder, path), 'Mac OS X')
    await assertRestored(() => ({ folder }))
  })

  test('is restored with its metadata, and reports records that a git host cannot store', async () => {
    const { into, notes } = await restored(fileOf(REAL_ARCHIVE.file))
    const dir = join(into, `${NAME}.git`)
    assert.ok(existsSync(join(dir, 'git-daemon-export-ok')))
    assert.match(readFileSync(join(dir, 'description'), 'utf8'), /^Test repository for testing/)
    assert.match(readFileSync(join(dir, 'config'), 'utf8'), /collaborator = "mrsdizzie:write"/)
    assert.match(readFileSync(join(dir, 'config'), 'utf8'), /ownerType = "Organization"/)
    assert.deepEqual(
      notes.filter((line) => !line.startsWith('skipped: ')),
      [],
    )
    for (const left of ['2 issues', '9 labels', '2 pull requests', '4 teams'])
      assert.ok(notes.includes(`skipped: ${left}`), notes.join('\n'))
  })

  test('is reported as damaged if it is truncated or one bit is flipped', async () => {
    const whole = readFileSync(REAL_ARCHIVE.file)
    for (const part of [0.3, 0.6, 0.9]) {
      const cut = whole.subarray(0, whole.length * part)
      assert.ok(errorsIn(await verified(() => [cut])).length > 0, `cut at ${part}`)
      await assert.rejects(
        restored(() => [cut]),
        /damaged/,
      )
      const flipped = Buffer.from(whole)
      flipped[Math.floor(whole.length * part)]! ^= 1
      const findings = await verified(() => [flipped]).catch(({ message }: Error): Finding[] => [
        { level: 'error', text: message, count: 1 },
      ])
      assert.ok(errorsIn(findings).length > 0, `flipped at ${part}`)
    }
  })
})

describe('an archive of Godwit that was unpacked and packed again', { concurrency: 2 }, () => {
  const REPOSITORIES = ['alice/site.git', 'alice/site.wiki.git', 'alice/notes.git']
  const first = new Map<string, string[]>()
  before(async () => {
    const { into } = await restored(fileOf(oursPacked))
    for (const repository of REPOSITORIES) first.set(repository, refsOf(join(into, repository)))
  })

  const edits: [name: string, edit: (folder: string) => Promise<unknown>, expected: RegExp][] = [
    ['another description', (at) => appendFile(`${at}/description`, 'x'), /description is not the/],
    ['another config', (at) => appendFile(`${at}/config`, '# x\n'), /config is not the file/],
    [
      'a hook',
      (at) => addHook(at),
      /hooks\/post-receive is in the archive and not in the manifest/,
    ],
    ['no info/nwo', (at) => rm(`${at}/info/nwo`), /info\/nwo is missing/],
    ['another HEAD', (at) => writeFile(`${at}/HEAD`, 'ref: refs/heads/x\n'), /HEAD is/],
  ]
  async function addHook(at: string): Promise<void> {
    await mkdir(`${at}/hooks`)
    await writeFile(`${at}/hooks/post-receive`, '#!/bin/sh\n')
  }
  for (const [name, edit, expected] of edits)
    test(`with ${name} is reported`, async () => {
      const folder = join(mkdtempSync(join(base, 'edited-')), 'ours')
      await cp(ours, folder, { recursive: true })
      await edit(join(folder, 'repositories/alice/site.git'))
      const findings = await verified(() => ({ folder }), folder)
      assert.match(errorsIn(findings).join('\n'), expected)
      assert.deepEqual(verifiedIn(findings), ['alice/notes'])
    })

  test('a directory is verified and restored, and refused if it contains no archive', async () => {
    const findings = await verified(() => ({ folder: ours }), ours)
    assert.deepEqual(errorsIn(findings), [])
    assert.match(notesIn(findings).join('\n'), /not compared: it is a directory/)
    await restored(() => ({ folder: ours }))
    await assert.rejects(
      verified(() => ({ folder: '/usr' })),
      /has neither schema\.json nor/,
    )
  })

  test('git accepts the unpacked repositories, and importers can push them', () => {
    for (const repository of REPOSITORIES) {
      const at = join(mkdtempSync(join(base, 'git-')), 'copy.git')
      cpSync(join(ours, 'repositories', repository), at, { recursive: true })
      plainGit(at, ['fsck', '--full', '--strict'])
      assert.match(
        plainGit(at, ['remote', 'get-url', 'origin']),
        new RegExp(`^https://[^/@]+/${repository}$`),
      )
      const target = `${at}.target`
      for (const empty of [target, `${at}.fetched`]) initBare(empty)
      plainGit(at, ['remote', 'set-url', 'origin', target])
      plainGit(at, ['push', '--quiet', '--mirror', 'origin'])
      assert.deepEqual(refsOf(target), first.get(repository))
      plainGit(`${at}.fetched`, ['fetch', '--quiet', at, '+refs/*:refs/*'])
      assert.deepEqual(refsOf(`${at}.fetched`), first.get(repository))
    }
  })

  for (const name of ['the folder', 'all folders'])
    test(`packed with ${name} around it is verified and restored`, needs('GNU tar'), async () => {
      const archive = join(mkdtempSync(join(base, 'packed-')), 'archive')
      const from = name === 'the folder' ? ['-C', base, 'ours'] : ['-C', '/', ours.slice(1)]
      await runTool('GNU tar', ['-czf', archive, ...from])
      const findings = await verified(fileOf(archive), archive)
      assert.deepEqual(errorsIn(findings), [])
      assert.deepEqual(verifiedIn(findings), ['alice/notes', 'alice/site'])
      assert.deepEqual(findings.at(-1), { compared: true })
      const again = await restored(fileOf(archive))
      for (const repository of REPOSITORIES)
        assert.deepEqual(packedRefsOf(join(again.into, repository)), first.get(repository))
    })
})

describe('an archive of another program', () => {
  /** A changed archive of Godwit without its manifest. */
  async function foreign(edit: (folder: string) => Promise<unknown>): Promise<Folder> {
    const folder = join(mkdtempSync(join(base, 'foreign-')), 'ours')
    await cp(ours, folder, { recursive: true })
    await rm(join(folder, 'godwit-manifest.json'))
    await edit(folder)
    return { folder }
  }
  const json = async (file: string, edit: (all: Record<string, unknown>[]) => void) => {
    const all = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>[]
    edit(all)
    await writeFile(file, JSON.stringify(all))
  }

  test('may have null for absent fields, unknown fields and unknown files', async () => {
    const archive = await foreign(async (folder) => {
      await json(join(folder, 'repositories_000001.json'), (all) => {
        for (const each of all)
          Object.assign(each, {
            wiki_url: null,
            collaborators: null,
            website: null,
            description: null,
            repository_topics: [{ topic_name: 'demo', repository: null, creator: null }],
            stars: { since: 'ever' },
          })
      })
      await writeFile(join(folder, 'schema.json'), '{"version":"1.1.0","github_sha":"0","x":1}')
      await writeFile(join(folder, 'starship_crews_000001.json'), '[{"name":"x"}, 7, null]')
      await writeFile(join(folder, 'unknown_things_000001.json'), 'not JSON')
      await writeFile(join(folder, 'README'), 'hello')
    })
    const findings = await verified(() => archive)
    assert.deepEqual(errorsIn(findings), [])
    assert.deepEqual(warningsIn(findings), [])
    const { into } = await restored(() => archive)
    assert.match(readFileSync(join(into, 'alice/site.git/config'), 'utf8'), /topic = "demo"/)
  })

  test('with an invalid record gives a warning by file, index and field, and the other records are used', async () => {
    const archive = await foreign((folder) =>
      json(join(folder, 'repositories_000001.json'), (all) => {
        all.find((each) => each.name === 'notes')!.private = 'maybe'
      }),
    )
    const findings = await verified(() => archive)
    assert.deepEqual(errorsIn(findings), [])
    const warnings = warningsIn(findings)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]!, /^repositories_000001\.json: \[\d\]\.private is not true or false/)
    const { into, notes } = await restored(() => archive)
    assert.match(notes.join('\n'), /\[\d\]\.private .*\n.*alice\/notes has no record.* private/)
    assert.ok(!existsSync(join(into, 'alice/notes.git/git-daemon-export-ok')))
    assert.match(readFileSync(join(into, 'alice/site.git/config'), 'utf8'), /"bob:admin"/)
  })

  test('with links to missing records and entries is invalid', async () => {
    const archive = await foreign(async (folder) => {
      const issue = (over: object) => ({
        type: 'issue',
        url: 'https://x.test/a/b/issues/1',
        ...over,
      })
      await writeFile(
        join(folder, 'issues_000001.json'),
        JSON.stringify([issue({ user: null }), issue({ user: 'https://x.test/nobody' })]),
      )
      const asset_url = 'tarball://root/attachments/1/shot.png'
      await writeFile(
        join(folder, 'attachments_000001.json'),
        JSON.stringify([{ url: 'https://x.test/1', issue: issue({}).url, asset_url }]),
      )
    })
    assert.deepEqual(errorsIn(await verified(() => archive)), [
      'attachments_000001.json: [0].asset_url leads to tarball://root/attachments/1/shot.png, which is not in the archive',
      'issues_000001.json: [1].user leads to https://x.test/nobody, which has no record',
    ])
  })

  test('keeps receive.deny settings, attributes and default branch, but no commands', async () => {
    const archive = await foreign(async (folder) => {
      const site = join(folder, 'repositories/alice/site.git')
      const config =
        '[receive]\n\tdenyNonFastForwards = yes\n\tdenyDeletes\n\tdenyCurrentBranch = !sh\n\tfsckObjects = true\n'
      await appendFile(join(site, 'config'), config)
      await writeFile(join(site, 'info/attributes'), '*.png binary\n')
      await writeFile(join(site, 'HEAD'), 'ref: refs/heads/none\n')
    })
    const { into } = await restored(() => archive)
    const site = join(into, 'alice/site.git')
    const config = readFileSync(join(site, 'config'), 'utf8')
    assert.match(
      config,
      /\[receive\]\n\tdenyNonFastForwards = true\n\tdenyDeletes = true\n\[godwit\]/,
    )
    assert.equal(readFileSync(join(site, 'info/attributes'), 'utf8'), '*.png binary\n')
    assert.equal(readFileSync(join(site, 'HEAD'), 'utf8'), 'ref: refs/heads/main\n')
  })
})

test('names that differ only in case are refused', async () => {
  const folder = join(mkdtempSync(join(base, 'case-')), 'ours')
  await cp(ours, folder, { recursive: true })
  await cp(join(folder, 'repositories/alice'), join(folder, 'repositories/ALICE'), {
    recursive: true,
  })
  await assert.rejects(
    verified(() => ({ folder })),
    /alice differs from repositories\/ALICE only/,
  )
})

test('an archive that was compressed again or not at all is verified', async () => {
  const tar = gunzipSync(readFileSync(oursPacked))
  for (const bytes of [tar, gzipSync(tar, { level: 9 })])
    assert.deepEqual(errorsIn(await verified(() => [bytes])), [])
})
