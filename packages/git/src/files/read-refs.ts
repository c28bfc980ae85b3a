import type { BigIntStats, Dirent } from 'node:fs'
import { ifExists } from '@godwit/lib/errno'
import { decodeUtf8, type Refs } from '../refs.ts'
import type { BareRepository } from '../snapshot.ts'
import { bytePath, type NamedDirectory, readListedText, readText } from './regular-file.ts'
import { Damaged, Unsupported } from './repository-errors.ts'
import {
  COARSE_TICK_MS,
  lstatIfExists,
  preciseLstatIfExists,
  readByteEntries,
  readLink,
} from './sync-fs.ts'

type Pointer = Refs['head']

/** The directories that refs are in, relative to the repository, as they were before the refs were read. */
export type RefFolders = Map<string, BigIntStats | undefined>

/**
 * Reads HEAD and all refs from their files: `git for-each-ref` omits, with exit code 0, refs that a crash has emptied, and starting git
 * costs more than reading. Throws Damaged for a file that is not a ref. Like git, it reads loose refs before packed-refs:
 * `pack-refs` writes the packed file before it removes a loose one, and a deletion rewrites the packed file first, so a ref that
 * moves from one to the other is always found. Adds the directories of refs to `folders`.
 */
export async function readRefs(
  repository: BareRepository,
  folders: RefFolders = new Map(),
): Promise<Refs> {
  folders.set('', await preciseLstatIfExists(repository.dir))
  const stats = await lstatIfExists(`${repository.dir}/HEAD`)
  const head = await readPointer(repository, 'HEAD', stats?.isSymbolicLink() ?? true)
  if (!head) throw new Damaged(repository.name, 'HEAD is missing')
  const loose = await readLooseRefs(repository, folders)
  const all = new Map<string, Pointer>([...(await readPackedRefs(repository)), ...loose])
  // A symbolic ref to HEAD gets HEAD's value, because an archive can only hold symbolic refs to other refs.
  for (const [name, to] of loose) if ('target' in to && to.target === 'HEAD') all.set(name, head)
  const names = [...all.keys()].sort()
  return { head, refs: names.map((name) => ({ name, ...all.get(name)! })) }
}

/**
 * Whether no ref has changed since these directories were read at the time `readAt`. Git replaces the file of a ref, or `packed-refs`,
 * which changes the times of its directory. Returns false for a directory that changed just before, because its times may not show
 * the next change.
 */
export async function areRefsUnchanged(
  { dir }: BareRepository,
  folders: RefFolders,
  readAt: number,
): Promise<boolean> {
  for (const [folder, was] of folders) {
    const is = await preciseLstatIfExists(`${dir}/${folder}`)
    const isSame = is?.mtimeNs === was?.mtimeNs && is?.ctimeNs === was?.ctimeNs
    if (!is || !isSame || is.ino !== was?.ino || Number(is.ctimeMs) > readAt - COARSE_TICK_MS)
      return false
  }
  return true
}

/**
 * Throws Unsupported if git would read a ref from outside the repository, or wait forever: a link can lead to the refs of another
 * owner, and a pipe has no end.
 */
export async function refuseExternalRefs(repository: NamedDirectory): Promise<void> {
  const head = { name: 'HEAD', entry: await lstatIfExists(`${repository.dir}/HEAD`) }
  for (const { name, entry } of [head, ...(await listLooseRefs(repository))]) {
    if (entry?.isSymbolicLink()) await readSymbolicLink(repository, name)
    else if (entry && !entry.isFile())
      throw new Unsupported(repository.name, `${decodeUtf8(name)} is not a regular file`)
  }
}

/** Returns the objects that refs or a detached HEAD name, without duplicates. */
export const tipsOf = ({ head, refs }: Refs): string[] => distinctOids([head, ...refs])

/** Returns the objects that branches and tags name, without duplicates. */
export const headsOf = ({ refs }: Refs): string[] =>
  distinctOids(refs.filter(({ name }) => /^refs\/(heads|tags)\//.test(name)))

function distinctOids(pointers: readonly Pointer[]): string[] {
  const oids = pointers.flatMap((pointer) => ('oid' in pointer ? [pointer.oid] : []))
  return [...new Set(oids)].sort()
}

async function readLooseRefs(
  repository: BareRepository,
  read: RefFolders,
): Promise<Map<string, Pointer>> {
  const loose = new Map<string, Pointer>()
  for (const { name, entry } of await listLooseRefs(repository, read)) {
    const pointer = await unlessGone(readPointer(repository, name, entry.isSymbolicLink()))
    if (pointer) loose.set(name, pointer)
  }
  return loose
}

async function listLooseRefs(repository: NamedDirectory, read: RefFolders = new Map()) {
  const files: { name: string; entry: Dirent<Buffer> }[] = []
  const folders = ['refs']
  for (const folder of folders) {
    read.set(folder, await preciseLstatIfExists(`${repository.dir}/${folder}`))
    for (const entry of (await unlessGone(readByteEntries(bytePath(repository, folder)))) ?? []) {
      const name = `${folder}/${entry.name.toString('latin1')}`
      if (entry.isDirectory()) folders.push(name)
      else if (isRefName(name)) files.push({ name, entry })
    }
  }
  return files
}

async function readPackedRefs(repository: BareRepository): Promise<Map<string, Pointer>> {
  const text = (await readText(repository, 'packed-refs')) ?? ''
  const packed = new Map<string, Pointer>()
  const lines = text.split('\n')
  const peeledLength = 1 + oidLength(repository)
  // The rest of a truncated file would be without refs, and its last line could name another ref.
  if (lines.pop() !== '') throw new Damaged(repository.name, 'unterminated line in packed-refs')
  for (const line of lines) {
    if (line.startsWith('#') && line === lines[0]) continue
    // A damaged line of this length hides no ref. Testing its digits as well would take a tenth more time.
    if (line.startsWith('^') && line.length === peeledLength) continue
    const space = line.indexOf(' ')
    const name = line.slice(space + 1)
    const oid = objectName(repository, line.slice(0, space))
    if (oid === undefined || !isRefName(name))
      throw new Damaged(repository.name, `unexpected line in packed-refs: ${decodeUtf8(line)}`)
    packed.set(name, { oid })
  }
  return packed
}

/** Not `\s`: it also matches the byte 0xa0, with which `à` ends. */
const SYMBOLIC_REF = /^ref:[ \t\r\n]*([^ \t\r\n]+)[ \t\r\n]*$/

async function readPointer(
  repository: BareRepository,
  name: string,
  mayBeLink: boolean,
): Promise<Pointer | undefined> {
  const target = mayBeLink ? await readSymbolicLink(repository, name) : undefined
  if (target !== undefined) return { target }
  const text = await readListedText(repository, name)
  if (text === undefined) return undefined
  const symbolic = SYMBOLIC_REF.exec(text)?.[1]
  const isTarget = symbolic && (isRefName(symbolic) || (symbolic === 'HEAD' && name !== 'HEAD'))
  if (isTarget) return { target: symbolic }
  const oid = objectName(repository, /^[0-9a-f]*(?=[ \t\r\n]|$)/i.exec(text)?.[0] ?? '')
  if (oid !== undefined) return { oid }
  throw new Damaged(repository.name, `${decodeUtf8(name)} points to no object (broken ref)`)
}

/**
 * Returns the target of a symbolic ref that is stored as a symbolic link; undefined if the file is not a link. Git stored symbolic refs
 * like this before 2006, and still reads them.
 */
async function readSymbolicLink(
  repository: NamedDirectory,
  name: string,
): Promise<string | undefined> {
  const target = await ifExists(readLink(bytePath(repository, name)), 'EINVAL')
  if (target === undefined || isRefName(target)) return target
  const reason = `${decodeUtf8(name)} is a symbolic link to a path outside refs`
  throw new Unsupported(repository.name, reason)
}

/** A ref or folder that disappears during the read was deleted, packed or replaced. */
const unlessGone = <T>(read: Promise<T>): Promise<T | undefined> =>
  ifExists(read, 'ENOENT', 'ENOTDIR', 'EISDIR')

const oidLength = ({ objectFormat }: BareRepository) => (objectFormat === 'sha256' ? 64 : 40)

/** Returns the object name in lower case, or undefined if it is not valid. Git reads upper case too, but never writes it. */
function objectName(repository: BareRepository, hex: string): string | undefined {
  if (hex.length !== oidLength(repository)) return undefined
  if (/^[0-9a-f]*[1-9a-f][0-9a-f]*$/.test(hex)) return hex
  return /[A-F]/.test(hex) ? objectName(repository, hex.toLowerCase()) : undefined
}

/** The rules of git-check-ref-format: git ignores files with other names. */
const INVALID_REF_NAME = /[^!-}\x80-\xff]|[:?*[\\^]|\.\.|@\{|\/\/|\/\.|\.lock(\/|$)|[./]$/

function isRefName(name: string): boolean {
  return name.startsWith('refs/') && !INVALID_REF_NAME.test(name)
}
