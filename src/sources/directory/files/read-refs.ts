import type { Dirent } from 'node:fs'
import { ifExists } from '../../../lib/errno.ts'
import { type Refs, readable } from '../../refs.ts'
import type { BareRepository } from '../../snapshot.ts'
import { readText } from './read-text.ts'
import { Damaged, Unsupported } from './repository-errors.ts'
import { byteEntriesIn, linkTarget, lstatIfThere } from './sync-fs.ts'

type Place = Pick<BareRepository, 'dir' | 'name'>
type Pointer = Refs['head']

/**
 * Reads the files themselves: `git for-each-ref` leaves out, with exit code 0, every ref that a crash has emptied.
 * Loose refs come before packed-refs, as in git: pack-refs writes the packed file before it removes the loose one, and
 * deletion rewrites the packed file first, so a ref on its way from one to the other is always seen.
 */
export async function readRefs(repository: BareRepository): Promise<Refs> {
  const head = await readPointer(repository, 'HEAD', true)
  if (!head) throw new Damaged(repository.name, 'HEAD is missing')
  const loose = await readLoose(repository)
  const all = new Map<string, Pointer>([...(await readPacked(repository)), ...loose])
  const names = [...all.keys()].sort()
  return { head, refs: names.map((name) => ({ name, ...all.get(name)! })) }
}

/**
 * Throws Unsupported where git would read a ref from elsewhere, or wait for ever: a link could lead to the refs of somebody
 * else, and a pipe has no end.
 */
export async function refuseForeignRefs(repository: Place): Promise<void> {
  const files = [{ name: 'HEAD', entry: await lstatIfThere(`${repository.dir}/HEAD`) }]
  for (const { name, entry } of [...files, ...(await looseFiles(repository))]) {
    if (entry?.isSymbolicLink()) await symbolicLink(repository, name)
    else if (entry && !entry.isFile())
      throw new Unsupported(repository.name, `${readable(name)} is not a file of its own`)
  }
}

/** Every object that a ref or a detached HEAD names, once. */
export function tipsOf({ head, refs }: Refs): string[] {
  const oids = [head, ...refs].flatMap((pointer) => ('oid' in pointer ? [pointer.oid] : []))
  return [...new Set(oids)].sort()
}

/** Of every branch and tag, once. */
export function headsOf({ refs }: Refs): string[] {
  const heads = refs.flatMap((ref) =>
    'oid' in ref && /^refs\/(heads|tags)\//.test(ref.name) ? [ref.oid] : [],
  )
  return [...new Set(heads)].sort()
}

async function readLoose(repository: BareRepository): Promise<Map<string, Pointer>> {
  const loose = new Map<string, Pointer>()
  for (const { name, entry } of await looseFiles(repository)) {
    const pointer = await unlessGone(readPointer(repository, name, entry.isSymbolicLink()))
    if (pointer) loose.set(name, pointer)
  }
  return loose
}

async function looseFiles(repository: Place) {
  const files: { name: string; entry: Dirent<Buffer> }[] = []
  const folders = ['refs']
  for (const folder of folders) {
    for (const entry of await inFolder(repository, folder)) {
      const name = `${folder}/${entry.name.toString('latin1')}`
      if (entry.isDirectory()) folders.push(name)
      else if (isRefName(name)) files.push({ name, entry })
    }
  }
  return files
}

async function inFolder(repository: Place, folder: string) {
  const path = pathOf(repository, folder)
  return (await unlessGone(byteEntriesIn(path))) ?? []
}

async function readPacked(repository: BareRepository): Promise<Map<string, Pointer>> {
  const text = (await readText(repository, 'packed-refs')) ?? ''
  const packed = new Map<string, Pointer>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#') || line.startsWith('^')) continue
    const space = line.indexOf(' ')
    const name = line.slice(space + 1).trimEnd()
    const oid = line.slice(0, space)
    if (!isObjectName(repository, oid) || !isRefName(name))
      throw new Damaged(repository.name, `unexpected line in packed-refs: ${readable(line)}`)
    packed.set(name, { oid })
  }
  return packed
}

async function readPointer(
  repository: BareRepository,
  name: string,
  maybeLink: boolean,
): Promise<Pointer | undefined> {
  const target = maybeLink ? await symbolicLink(repository, name) : undefined
  if (target !== undefined) return { target }
  const text = await readText(repository, name)
  if (text === undefined) return undefined
  const symbolic = /^ref:\s*(.*?)\s*$/s.exec(text)?.[1]
  if (symbolic !== undefined && isRefName(symbolic)) return { target: symbolic }
  const oid = /^[0-9a-f]+(?=\s|$)/.exec(text)?.[0]
  if (oid !== undefined && isObjectName(repository, oid)) return { oid }
  throw new Damaged(repository.name, `${readable(name)} points to no object (broken ref)`)
}

/** Before 2006 git wrote symbolic refs as symbolic links, and still reads them. */
async function symbolicLink(repository: Place, name: string): Promise<string | undefined> {
  const target = await ifExists(linkTarget(pathOf(repository, name)), 'EINVAL')
  if (target === undefined || isRefName(target)) return target
  throw new Unsupported(
    repository.name,
    `${readable(name)} is a symbolic link to a path outside refs`,
  )
}

/** A ref or folder that went away while we read was deleted, packed, or made way for another. */
const unlessGone = <T>(read: Promise<T>): Promise<T | undefined> =>
  ifExists(read, 'ENOENT', 'ENOTDIR', 'EISDIR')

function isObjectName({ objectFormat }: BareRepository, oid: string): boolean {
  return (
    oid.length === (objectFormat === 'sha256' ? 64 : 40) && /^[0-9a-f]*[1-9a-f][0-9a-f]*$/.test(oid)
  )
}

/** The rules of git-check-ref-format; a file with another name is no ref to git either. */
const NOT_IN_A_NAME = /[^!-}\x80-\xff]|[:?*[\\^]|\.\.|@\{|\/\/|\/\.|\.lock(\/|$)|[./]$/

function isRefName(name: string): boolean {
  return name.startsWith('refs/') && !NOT_IN_A_NAME.test(name)
}

function pathOf(repository: Place, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${repository.dir}/`), Buffer.from(name, 'latin1')])
}
