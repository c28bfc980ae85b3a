import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { constants, deflateRawSync } from 'node:zlib'
import { looseObjects } from './loose-objects.ts'

/** Makes a directory that is removed after the test. */
export function temporaryDirectory(t: Pick<TestContext, 'after'>): string {
  const dir = mkdtempSync(join(tmpdir(), 'godwit-test-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** An environment without personal configuration, in which the same commands give the same object ids. */
export const GIT_ENVIRONMENT = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_AUTHOR_DATE: '1700000000 +0100',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
  GIT_COMMITTER_DATE: '1700000000 +0100',
}

/** Runs plain git, as an administrator of the host would. */
export function git(dir: string, args: readonly string[], input: string | Buffer = ''): string {
  return execFileSync('git', args, {
    env: { ...GIT_ENVIRONMENT, GIT_DIR: dir },
    input,
    maxBuffer: 1 << 28,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
    .toString('latin1')
    .trim()
}

const EMPTY_REPOSITORIES = new Map<string, RepositoryFiles>()

/** Runs `git init --bare` for the first repository of a format, and copies it for the others. */
export function initBare(dir: string, format = 'sha1'): void {
  const files = EMPTY_REPOSITORIES.get(format)
  if (files) {
    writeRepositoryFiles(dir, files)
    return
  }
  mkdirSync(dir, { recursive: true })
  git(dir, ['init', '-q', '--bare', '-b', 'main', `--object-format=${format}`, dir])
  EMPTY_REPOSITORIES.set(format, readRepositoryFiles(dir))
}

const SIGNATURE = 'Ada <ada@example.org> 1700000000 +0100'

/** Commits one file on top of `ref`, as loose objects, and returns the commit id. */
export function commit(dir: string, ref: string, text: string): string {
  const objects = looseObjects(dir)
  const tree = objects.tree({ 'file.txt': text })
  const oid = objects.writeCommit({
    tree,
    parent: objects.readRef(ref),
    who: SIGNATURE,
    message: text,
  })
  objects.writeRef(ref, oid)
  return oid
}

const HISTORIES = new Map<string, RepositoryFiles>()

/** Writes a blob of zeros, which takes a thousandth of its size on the disk, and a commit with only this file. */
export function commitZeros(dir: string, ref: string, path: string, size: number): string {
  const { oid, bytes } = BLOBS_OF_ZEROS.getOrInsertComputed(size, blobOfZeros)
  mkdirSync(join(dir, 'objects', oid.slice(0, 2)), { recursive: true })
  writeFileSync(join(dir, 'objects', oid.slice(0, 2), oid.slice(2)), bytes)
  const { readRef } = looseObjects(dir)
  const parent = readRef(ref)
  const message = `committer ${SIGNATURE}\ndata <<END\n${path}\nEND\n`
  const from = parent ? `from ${parent}\ndeleteall\n` : ''
  const stream = `commit ${ref}\n${message}${from}M 100644 ${oid} ${path}\n`
  git(dir, ['fast-import', '--quiet'], stream)
  return readRef(ref)!
}

/** By size. */
const BLOBS_OF_ZEROS = new Map<number, { oid: string; bytes: Buffer }>()
const ZEROS = Buffer.alloc(1 << 20)

/** The object ids of blobs of zeros by size, because hashing hundreds of megabytes takes most of a second. Git and the snapshots check them. */
const OIDS_OF_ZEROS = new Map([
  [104_857_600, '36406a1eee032e80a284d3ed9f5176bba67be064'],
  [104_857_601, 'd748d1b68b9dc69c4717ebc070dbc547d129bcc6'],
  [105_906_176, '7e11e38cda9301485d0584b9accbe9128d9747c1'],
  [419_430_401, '153e70225a3cd9447dedb526b46268ce784900c3'],
])

function oidOfZeros(size: number): string {
  const hash = createHash('sha1').update(`blob ${size}\0`)
  let left = size
  for (; left >= ZEROS.length; left -= ZEROS.length) hash.update(ZEROS)
  return hash.update(ZEROS.subarray(0, left)).digest('hex')
}

/** Returns a loose object. Its zlib stream repeats one deflated block, because deflating hundreds of megabytes takes seconds. */
function blobOfZeros(size: number): { oid: string; bytes: Buffer } {
  const header = Buffer.from(`blob ${size}\0`)
  const flushed = (part: Buffer) => deflateRawSync(part, { finishFlush: constants.Z_FULL_FLUSH })
  const [block, parts] = [flushed(ZEROS), [Buffer.from([0x78, 0x01]), flushed(header)]]
  let left = size
  for (; left >= ZEROS.length; left -= ZEROS.length) parts.push(block)
  parts.push(deflateRawSync(ZEROS.subarray(0, left)))
  // The Adler-32 checksum: a zero leaves the first sum as it is, and adds it to the second.
  let [first, second] = [1, 0]
  for (const byte of header) {
    first = (first + byte) % 65_521
    second = (second + first) % 65_521
  }
  second = (second + first * size) % 65_521
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(second * 65_536 + first)
  return {
    oid: OIDS_OF_ZEROS.get(size) ?? oidOfZeros(size),
    bytes: Buffer.concat([...parts, checksum]),
  }
}

/** Makes `count` commits in one pack with fast-import; later calls with the same arguments copy the first result. */
export function packedHistory(dir: string, ref: string, count: number): void {
  const { isSha256, readRef } = looseObjects(dir)
  const name = `${ref} ${count} ${isSha256}`
  const files = readRef(ref) === undefined && HISTORIES.get(name)
  if (files) {
    writeRepositoryFiles(dir, files)
    return
  }
  const before = new Set(readdirSync(join(dir, 'objects/pack')))
  importHistory(dir, ref, count)
  const packs = readdirSync(join(dir, 'objects/pack')).filter((each) => !before.has(each))
  const made = [ref, ...packs.map((each) => `objects/pack/${each}`)]
  HISTORIES.set(name, readRepositoryFiles(dir, made))
}

function importHistory(dir: string, ref: string, count: number): void {
  const commits = Array.from({ length: count }, (_, n) => {
    const text = `${ref} ${n}\n${createHash('sha512').update(`${ref}${n}`).digest('hex')}\n`
    const from = n === 0 ? 'deleteall' : ''
    return `commit ${ref}\ncommitter Ada <ada@example.org> ${1700000000 + n} +0000\ndata 2\n${n % 10}\n${from}
M 100644 inline dir/file-${n % 7}.txt\ndata ${text.length}\n${text}\n`
  })
  git(dir, ['-c', 'fastimport.unpackLimit=0', 'fast-import', '--quiet'], commits.join(''))
}

export function onlyPack(dir: string): string {
  const packs = readdirSync(join(dir, 'objects/pack')).filter((name) => name.endsWith('.pack'))
  if (packs.length !== 1) throw new Error(`${packs.length} packs`)
  return join(dir, 'objects/pack', packs[0]!)
}

export function makeWiki(dir: string): void {
  initBare(dir)
  commit(dir, 'refs/heads/main', '# Home\n')
}

type MakeRepository = (dir: string) => void

const makeLender = makeOnce((dir) => {
  initBare(dir)
  packedHistory(dir, 'refs/heads/main', 20)
  commit(dir, 'refs/heads/private', 'a secret of the lender')
  git(dir, ['repack', '-adq'])
})

const RECIPES = {
  'an empty repository': (dir) => initBare(dir),
  'an unborn HEAD': (dir) => {
    initBare(dir)
    commit(dir, 'refs/heads/other', 'one')
    git(dir, ['symbolic-ref', 'HEAD', 'refs/heads/not-yet'])
  },
  'a detached HEAD that no ref reaches': (dir) => {
    initBare(dir)
    commit(dir, 'refs/heads/main', 'one')
    const oid = commit(dir, 'refs/heads/gone', 'two')
    git(dir, ['update-ref', '-d', 'refs/heads/gone'])
    writeFileSync(join(dir, 'HEAD'), `${oid}\n`)
  },
  '5,000 refs, packed and loose': (dir) => {
    initBare(dir)
    const oid = commit(dir, 'refs/heads/main', 'one')
    const names = Array.from({ length: 5000 }, (_, n) => `refs/pull/${n}/head`)
    // Writes packed-refs like `git pack-refs`, without removing loose refs.
    const packed = names.slice(0, 4500).sort()
    const lines = packed.map((name) => `${oid} ${name}\n`).join('')
    writeFileSync(
      join(dir, 'packed-refs'),
      `# pack-refs with: peeled fully-peeled sorted \n${lines}`,
    )
    const loose = names.slice(4500).map((name) => `create ${name} ${oid}\n`)
    git(dir, ['update-ref', '--stdin'], loose.join(''))
    commit(dir, 'refs/pull/7/head', 'newer than its packed value')
  },
  'refs hidden from every client': (dir) => {
    initBare(dir)
    commit(dir, 'refs/heads/main', 'one')
    commit(dir, 'refs/secret/keep', 'hidden')
    git(dir, ['config', 'transfer.hideRefs', 'refs/secret'])
  },
  'a submodule': (dir) => {
    initBare(dir)
    const tree = git(dir, ['mktree', '--missing'], `160000 commit ${'1'.repeat(40)}\tvendored\n`)
    git(dir, ['update-ref', 'refs/heads/main', git(dir, ['commit-tree', tree], 'submodule')])
  },
  'LFS objects': (dir) => {
    initBare(dir)
    const content = Buffer.alloc(3 << 20, 'large file ')
    const oid = createHash('sha256').update(content).digest('hex')
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`
    commit(dir, 'refs/heads/main', pointer)
    write(join(dir, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid), content)
    write(join(dir, 'lfs/tmp/half-done'), 'not an object')
  },
  'objects borrowed from another': (dir) => {
    const lender = `${dir}.lender`
    makeLender(lender)
    initBare(dir)
    writeFileSync(join(dir, 'objects/info/alternates'), `${lender}/objects\n`)
    looseObjects(dir).writeRef('refs/heads/main', looseObjects(lender).readRef('refs/heads/main')!)
    commit(dir, 'refs/heads/mine', 'own')
  },
  'SHA-256 objects, packed and loose': (dir) => {
    initBare(dir, 'sha256')
    commit(dir, 'refs/heads/main', 'one')
    git(dir, ['repack', '-adq'])
    commit(dir, 'refs/heads/main', 'two')
  },
  'packed and loose objects': (dir) => {
    initBare(dir)
    packedHistory(dir, 'refs/heads/main', 50)
    packedHistory(dir, 'refs/heads/other', 50)
    commit(dir, 'refs/heads/main', 'loose')
    commit(dir, 'refs/heads/large', `${Buffer.alloc(300_000, 'x')}${incompressible(300_000)}`)
  },
  'a commit-graph, bitmaps and a multi-pack-index': (dir) => {
    initBare(dir)
    packedHistory(dir, 'refs/heads/main', 200)
    git(dir, ['repack', '-adqb'])
    git(dir, ['commit-graph', 'write', '--reachable'])
    git(dir, ['multi-pack-index', 'write'])
  },
  'symbolic refs, one leading nowhere': (dir) => {
    initBare(dir)
    commit(dir, 'refs/heads/main', 'one')
    git(dir, ['symbolic-ref', 'refs/heads/alias', 'refs/heads/main'])
    git(dir, ['symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main'])
  },
  'tags of tags, trees and blobs': (dir) => {
    initBare(dir)
    const oid = commit(dir, 'refs/heads/main', 'one')
    git(dir, ['tag', '-a', '-m', 'of a commit', 'inner', oid])
    git(dir, ['tag', '-a', '-m', 'of a tag', 'outer', 'inner'])
    git(dir, ['tag', '-d', 'inner'])
    git(dir, ['tag', '-a', '-m', 'of a tree', 'tree', `${oid}^{tree}`])
    git(dir, ['tag', 'blob', git(dir, ['hash-object', '-w', '--stdin'], 'only a tag has this')])
  },
  'ref names beyond ASCII, and beyond UTF-8': (dir) => {
    initBare(dir)
    const oid = commit(dir, 'refs/heads/main', 'one')
    const names = ['refs/heads/größe', 'refs/tags/版本/一', 'refs/tags/🐦', 'refs/tags/\u{fb01}']
    git(dir, ['update-ref', '--stdin'], names.map((name) => `create ${name} ${oid}\n`).join(''))
    git(dir, ['update-ref', '--stdin'], Buffer.from(`create refs/heads/caf\xe9 ${oid}\n`, 'latin1'))
  },
  'replace refs': (dir) => {
    initBare(dir)
    const first = commit(dir, 'refs/heads/main', 'one')
    const second = commit(dir, 'refs/heads/other', 'instead')
    git(dir, ['replace', first, second])
  },
} satisfies Record<string, MakeRepository>

/** Makes the repository with git the first time, and copies it afterwards. */
function makeOnce(make: MakeRepository): MakeRepository {
  let files: RepositoryFiles | undefined
  return (dir) => {
    if (files) return writeRepositoryFiles(dir, files)
    make(dir)
    files = readRepositoryFiles(dir)
  }
}

/** One contains the path of another repository, and one has names that are not valid UTF-8. */
const NOT_COPIED = new Set([
  'objects borrowed from another',
  'ref names beyond ASCII, and beyond UTF-8',
])

/** Valid repositories of every unusual kind; each function makes a bare repository at the path. */
export const UNUSUAL_REPOSITORIES = Object.fromEntries(
  Object.entries(RECIPES).map(([kind, make]) => [
    kind,
    NOT_COPIED.has(kind) ? make : makeOnce(make),
  ]),
) as typeof RECIPES

/** Returns incompressible text, the same every time. */
export function incompressible(bytes: number): string {
  const blocks = Array.from({ length: Math.ceil(bytes / 86) }, (_, n) =>
    createHash('sha512').update(String(n)).digest('base64url'),
  )
  return blocks.join('').slice(0, bytes)
}

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** The files of a repository, to copy it without running git. */
export interface RepositoryFiles {
  folders: string[]
  files: { path: string; bytes: Buffer; mode: number }[]
}

/** Reads the files of a repository, or only the named ones. */
export function readRepositoryFiles(
  dir: string,
  paths: readonly string[] = readdirSync(dir, { recursive: true, encoding: 'utf8' }),
): RepositoryFiles {
  const found: RepositoryFiles = { folders: [], files: [] }
  for (const path of paths) {
    const stat = statSync(join(dir, path))
    if (stat.isDirectory()) found.folders.push(path)
    else found.files.push({ path, bytes: readFileSync(join(dir, path)), mode: stat.mode })
  }
  return found
}

export function writeRepositoryFiles(dir: string, { folders, files }: RepositoryFiles): void {
  mkdirSync(dir, { recursive: true })
  for (const folder of folders) mkdirSync(join(dir, folder), { recursive: true })
  for (const { path, bytes, mode } of files) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), bytes, { mode })
  }
}
