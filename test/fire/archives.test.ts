import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { crc32, createDeflateRaw, gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { restoreArchive } from '../../packages/archive/src/restore-archive.ts'
import {
  ArchiveDamaged,
  ArchiveNotSupported,
  ArchiveRefused,
} from '../../packages/archive/src/tar/unreadable-archive.ts'
import { verifyArchive } from '../../packages/archive/src/verify-archive.ts'
import { createGit, type Git } from '../../packages/git/src/git.ts'
import {
  commandLine,
  editJson,
  entriesIn,
  type PlainEntry,
  writeChangedArchive,
} from '../support/command-line.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { gitHost } from '../support/git-host.ts'
import { plantPrograms } from '../support/planted-programs.ts'
import { git as plainGit, temporaryDirectory } from '../support/sample-repositories.ts'
import { TIMEOUT_MS } from '../support/wait-until.ts'

const CHANGES = shortOrLong({ short: 60, long: 1500 })
const AT_ONCE = 4
const SITE = 'repositories/alice/site.git'

const t = cleanupAfterFile()
let folder: string
let archive: string
let original: Buffer
let tar: Buffer
let git: Git

before(async () => {
  folder = temporaryDirectory(t)
  await using host = await gitHost()
  await host.repository('alice/site', {
    files: { 'index.html': '<h1>Alice</h1>', LICENSE: 'none' },
    wiki: { 'Home.md': '# Home\n' },
    config: { 'godwit.collaborator': 'bob:admin' },
  })
  await host.git(['repack', '-adq'], { dir: host.path('alice/site') })
  await host.commit(host.path('alice/site'), { more: 'loose' })
  const content = Buffer.alloc(5000, 'large ')
  const oid = createHash('sha256').update(content).digest('hex')
  const lfs = join(host.path('alice/site'), 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid)
  mkdirSync(dirname(lfs), { recursive: true })
  writeFileSync(lfs, content)
  archive = join(folder, 'original.tar.gz')
  const { godwit } = await commandLine(t)
  const order = ['export', 'alice', '--repositories', host.root, '--output', archive]
  const { code, output } = await godwit(order)
  assert.equal(code, 0, output)
  original = readFileSync(archive)
  tar = gunzipSync(original)
  git = createGit({
    program: 'git',
    searchPath: process.env.PATH ?? '',
    home: join(folder, 'home'),
  })
})

type Verdict = 'intact' | 'errors' | 'rejected'

/** Verifies an archive. An error that does not reject the archive is a crash and is thrown, and so is a timeout. */
async function verdictOf(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Verdict> {
  const directory = mkdtempSync(join(folder, 'verify-'))
  try {
    let verdict: Verdict = 'intact'
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    for await (const finding of verifyArchive({ git, directory }, bytes, signal))
      if ('level' in finding && finding.level === 'error') verdict = 'errors'
    return verdict
  } catch (error) {
    if (isRejection(error)) return 'rejected'
    throw error
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Asserts that each repository was restored completely or not at all. */
async function assertRestoredOrRejected(bytes: Buffer): Promise<void> {
  const into = mkdtempSync(join(folder, 'restore-'))
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    for await (const _ of restoreArchive({ git, open: () => [bytes], into }, signal));
  } catch (error) {
    if (!isRejection(error) && !isInvalidManifest(error)) throw error
  }
  for (const owner of readdirSync(into))
    for (const name of readdirSync(join(into, owner)))
      plainGit(join(into, owner, name), ['fsck', '--full', '--strict'])
  rmSync(into, { recursive: true })
}

const isRejection = (error: unknown) =>
  [ArchiveRefused, ArchiveDamaged, ArchiveNotSupported].some((kind) => error instanceof kind)

const isInvalidManifest = (error: unknown) => (error as Error).name === 'ManifestInvalid'

const sameEntries = async (bytes: Buffer): Promise<boolean> => {
  const file = join(mkdtempSync(join(folder, 'read-')), 'a.tar.gz')
  writeFileSync(file, bytes)
  try {
    const listing = (entries: PlainEntry[]) =>
      entries
        .filter(({ kind }) => kind === 'file')
        .map(({ path, content }) => `${path} ${content.toString('base64')}`)
    return (
      listing(await entriesIn(file)).join('\n') === listing(await entriesIn(archive)).join('\n')
    )
  } catch {
    return false
  } finally {
    rmSync(dirname(file), { recursive: true })
  }
}

interface Change {
  layer: 'gzip' | 'tar'
  what: 'flip' | 'cut' | 'zero' | 'repeat' | 'drop'
  /** The position as a fraction of the length; sometimes within the last bytes. */
  at: number
  fromEnd: boolean
  bit: number
  length: number
}

const changes = fc.record<Change>({
  layer: fc.constantFrom('gzip', 'tar'),
  what: fc.constantFrom('flip', 'flip', 'flip', 'cut', 'zero', 'repeat', 'drop'),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  fromEnd: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  bit: fc.nat(7),
  length: fc.constantFrom(1, 7, 512, 1024),
})

function changedBytes({ layer, what, at, fromEnd, bit, length }: Change): Buffer {
  const bytes = Buffer.from(layer === 'gzip' ? original : tar)
  const offset = fromEnd ? bytes.length - 1 - Math.floor(at * 20) : Math.floor(at * bytes.length)
  const end = Math.min(offset + length, bytes.length)
  const [head, some, rest] = [
    bytes.subarray(0, offset),
    bytes.subarray(offset, end),
    bytes.subarray(end),
  ]
  const edited = {
    flip: () => {
      bytes[offset]! ^= 1 << bit
      return bytes
    },
    cut: () => head,
    zero: () => Buffer.concat([head, Buffer.alloc(some.length), rest]),
    repeat: () => Buffer.concat([head, some, some, rest]),
    drop: () => Buffer.concat([head, rest]),
  }[what]()
  // The checksum is correct, so that the content itself must be checked.
  return layer === 'gzip' ? edited : gzipSync(edited, { level: 1 })
}

test('every change of an archive is detected, even with a correct checksum', async (t) => {
  t.diagnostic(`seed ${seed}`)
  assert.equal(await verdictOf([original]), 'intact')
  assert.equal(await verdictOf([gzipSync(tar, { level: 1 })]), 'intact')
  const verdicts: Record<Verdict, number> = { intact: 0, errors: 0, rejected: 0 }
  const samples = fc.sample(changes, { seed, numRuns: CHANGES })
  const waiting = samples.entries()
  async function work(): Promise<void> {
    for (const [number, change] of waiting) {
      const bytes = changedBytes(change)
      const verdict = await verdictOf([bytes])
      verdicts[verdict]++
      const changeText = JSON.stringify(change)
      if (verdict === 'intact') assert.ok(await sameEntries(bytes), `undetected: ${changeText}`)
      if (number % 10 === 0) await assertRestoredOrRejected(bytes)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  t.diagnostic(JSON.stringify(verdicts))
  assert.ok(verdicts.errors + verdicts.rejected > CHANGES / 2)
  reportFault(
    t,
    'changed archives',
    CHANGES,
    'every change of content is reported; no partial restore',
  )
})

test('a decompression bomb is rejected by its declared size', async () => {
  const entries = [
    ['users_000002.json', 2 ** 33],
    [`${SITE}/objects/pack/pack-${'1'.repeat(40)}.pack`, 2 ** 50],
  ] as const
  for (const [name, size] of entries) {
    const file = join(folder, 'bomb.tar.gz')
    await writeChangedArchive(archive, file, (all) => [...all, { name, size }])
    assert.equal(await verdictOf([readFileSync(file)]), 'rejected', name)
  }
})

test('endless zeros after the end are neither read forever nor kept in memory', async () => {
  const before = process.memoryUsage().rss
  assert.equal(await verdictOf(gzipOf(tar, 2 ** 40)), 'errors')
  const grown = process.memoryUsage().rss - before
  assert.ok(grown < 300 * 1024 * 1024, `${grown} bytes`)
})

/** Compresses these bytes followed by this many zeros, as a stream. */
async function* gzipOf(bytes: Buffer, zeros: number): AsyncGenerator<Buffer> {
  yield Buffer.from('1f8b08000000000000ff', 'hex')
  const deflating = createDeflateRaw({ level: 1 })
  const chunk = Buffer.alloc(1 << 20)
  let crc = crc32(bytes)
  const feed = async () => {
    deflating.write(bytes)
    for (let left = zeros; left > 0; left -= chunk.length) {
      crc = crc32(chunk, crc)
      if (!deflating.write(chunk)) await new Promise((go) => deflating.once('drain', go))
    }
    deflating.end()
  }
  const fed = feed()
  yield* deflating
  await fed
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc, 0)
  trailer.writeUInt32LE((bytes.length + zeros) % 2 ** 32, 4)
  yield trailer
}

test('records and manifests that are nested too deeply or too long are reported as errors', async () => {
  const texts = {
    deep: `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`,
    many: `[${'[],'.repeat(6_000_000)}[]]`,
    'another type': '"users"',
    'not JSON': '{"a": ',
  }
  for (const [what, text] of Object.entries(texts))
    for (const path of ['users_000001.json', 'godwit-manifest.json', 'schema.json']) {
      const file = join(folder, 'json.tar.gz')
      await writeChangedArchive(archive, file, (all) =>
        all.map((each) => (each.path === path ? { ...each, content: Buffer.from(text) } : each)),
      )
      assert.equal(await verdictOf([readFileSync(file)]), 'errors', `${what} in ${path}`)
    }
})

const manifestChanges: Record<string, (manifest: Record<string, never[]>) => unknown> = {
  'a size that is not an integer': (m) => Object.assign(m.repositories![0]!, { size: 1e300 }),
  'a negative length': (m) =>
    Object.assign((m.repositories![0]! as { segment: object }).segment, { length: -1 }),
  'a name with ..': (m) => Object.assign(m.repositories![0]!, { full_name: '../../etc' }),
  'a repository twice': (m) => m.repositories!.push(m.repositories![0]!),
  'a ref with ..': (m) => Object.assign(m.repositories![0]!, { head: 'refs/../../x' }),
  'an unknown field': (m) => Object.assign(m, { hooks: 'sh' }),
  // An assignment would set the prototype of this object, and JSON.stringify would not write it.
  'a prototype': (m) =>
    Object.defineProperty(m, '__proto__', { value: { format: 1 }, enumerable: true }),
}

test('a changed manifest is detected', async () => {
  for (const [what, change] of Object.entries(manifestChanges)) {
    const file = join(folder, 'changed.tar.gz')
    await writeChangedArchive(archive, file, editJson('godwit-manifest.json', change))
    assert.notEqual(await verdictOf([readFileSync(file)]), 'intact', what)
    await assertRestoredOrRejected(readFileSync(file))
  }
})

test('names that are equal on some file systems do not overwrite each other', async () => {
  const file = join(folder, 'case.tar.gz')
  await writeChangedArchive(archive, file, (all) => [
    ...all.filter(({ path }) => path !== 'godwit-manifest.json'),
    ...all
      .filter(({ path }) => path.startsWith('repositories/alice/'))
      .map((each) => ({ ...each, path: each.path.replace('/alice/', '/ALICE/') })),
  ])
  assert.notEqual(await verdictOf([readFileSync(file)]), 'intact')
  await assertRestoredOrRejected(readFileSync(file))
})

test('no program in an archive is run', async (t) => {
  const traps = plantPrograms(temporaryDirectory(t))
  const trapped = join(temporaryDirectory(t), 'trapped.git')
  execFileSync('git', ['init', '-q', '--bare', trapped])
  traps.plantIn(trapped)
  const planted = readdirSync(trapped, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\/(hooks|info)$|\.git$/.test(entry.parentPath))
    .filter(({ name }) => name !== 'HEAD' && name !== 'description')
    .map((entry): PlainEntry => {
      const from = join(entry.parentPath, entry.name)
      const path = `${SITE}${from.slice(trapped.length)}`
      return { path, kind: 'file', content: readFileSync(from) }
    })
  assert.ok(planted.some(({ path }) => path.endsWith('/config')) && planted.length > 20)
  const file = join(folder, 'trapped.tar.gz')
  const replaced = new Set(planted.map(({ path }) => path))
  await writeChangedArchive(archive, file, (all) => [
    ...all.filter(({ path }) => path !== 'godwit-manifest.json' && !replaced.has(path)),
    ...planted,
  ])
  assert.equal(await verdictOf([readFileSync(file)]), 'intact')
  const into = join(temporaryDirectory(t), 'into')
  const dependencies = { git, open: () => [readFileSync(file)], into }
  for await (const { errors } of restoreArchive(dependencies, AbortSignal.timeout(TIMEOUT_MS)))
    assert.deepEqual(errors, [])
  assert.deepEqual(traps.programsRun(), [])
  assert.ok(!existsSync(join(into, 'alice/site.git/hooks')))
  assert.doesNotMatch(readFileSync(join(into, 'alice/site.git/config'), 'utf8'), /fsmonitor|alias/)
})
