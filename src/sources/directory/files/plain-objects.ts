import { hash } from 'node:crypto'
import { join } from 'node:path'
import { hasCode } from '../../../lib/errno.ts'
import type { ObjectFormat } from '../../snapshot.ts'
import { NeedsGit, type ObjectReader, type WholeObject } from './object-reader.ts'
import { type OwnFile, openOwnFile } from './own-file.ts'
import { allowed, type Budget, beginningOf, inflated } from './pack-entry.ts'
import { PackFile } from './pack-file.ts'
import { lstatIfThere, namesIn, syncFs } from './sync-fs.ts'

/** More packs than a repository has that is packed now and then; git looks through them faster. */
const MAX_PACKS = 20
/** Of one repository: beyond it git reads, in a process of its own. */
const MAX_UNPACKED = 64 * 1024 * 1024
const LARGEST_LOOSE = 4 * 1024 * 1024
const LONGEST_HEAD = 128

/**
 * The objects of an ordinary repository, read from its files: to start git costs more than all that a small one asks of it. Every
 * object is held against its name. Whatever is not as usual, or not here, is Odd: then git may say.
 */
export async function openPlainObjects(dir: string, format: ObjectFormat): Promise<ObjectReader> {
  for (const elsewhere of ['alternates', 'http-alternates'])
    if (await lstatIfThere(join(dir, 'objects/info', elsewhere))) throw new NeedsGit('alternates')
  return new PlainObjects(dir, format)
}

class PlainObjects implements ObjectReader {
  readonly #dir: string
  readonly #format: ObjectFormat
  readonly #files: OwnFile[] = []
  readonly #budget: Budget = { bytes: MAX_UNPACKED }
  #packs: PackFile[] | undefined

  constructor(dir: string, format: ObjectFormat) {
    this.#dir = dir
    this.#format = format
  }

  sizes(oids: readonly string[]): Promise<number[]> {
    return this.#each(
      oids,
      (pack, offset) => pack.size(offset),
      (file) => looseHead(beginningOf(file.read(0, LONGEST_HEAD))).size,
    )
  }

  async read(oids: readonly string[]): Promise<WholeObject[]> {
    const read = await this.#each(
      oids,
      (pack, offset) => pack.read(offset, this.#budget),
      (file) => readLoose(file, this.#budget),
    )
    return read.map(({ type, bytes }, index) => {
      const object = { type, size: bytes.length, bytes }
      if (nameOf(object, this.#format) !== oids[index])
        throw new NeedsGit('an object that is another')
      return object
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const file of this.#files) file.close()
  }

  /** In the packs first, as git looks for it. */
  async #each<T>(
    oids: readonly string[],
    inPack: (pack: PackFile, offset: number) => T,
    loose: (file: OwnFile) => T,
  ): Promise<T[]> {
    this.#packs ??= await this.#openPacks()
    const find = syncFs((oid: string): T => {
      const name = Buffer.from(oid, 'hex')
      for (const pack of this.#packs!) {
        const offset = pack.find(name)
        if (offset !== undefined) return inPack(pack, offset)
      }
      return looseObject(join(this.#dir, 'objects', oid.slice(0, 2), oid.slice(2)), loose)
    })
    const found: T[] = []
    for (const oid of oids) found.push(await find(oid))
    return found
  }

  async #openPacks(): Promise<PackFile[]> {
    const folder = join(this.#dir, 'objects/pack')
    const names = (await namesIn(folder)).filter((name) => /^pack-\w+\.idx$/.test(name))
    if (names.length > MAX_PACKS) throw new NeedsGit('very many packs')
    const width = this.#format === 'sha1' ? 20 : 32
    return names.map((name) => {
      const path = join(folder, name.slice(0, -'.idx'.length))
      return new PackFile(this.#open(`${path}.idx`), this.#open(`${path}.pack`), width)
    })
  }

  #open(path: string): OwnFile {
    const file = openOwnFile(path)
    this.#files.push(file)
    return file
  }
}

function looseObject<T>(path: string, use: (file: OwnFile) => T): T {
  let file: OwnFile
  try {
    file = openOwnFile(path)
  } catch (error) {
    throw hasCode(error, 'ENOENT') ? new NeedsGit('a missing object') : error
  }
  try {
    return use(file)
  } finally {
    file.close()
  }
}

/** `<type> <size>`, a null, and the bytes, all deflated. */
function readLoose(file: OwnFile, budget: Budget): { type: string; bytes: Buffer } {
  if (file.size > LARGEST_LOOSE) throw new NeedsGit('a very large object')
  const packed = file.read(0, file.size)
  const { type, size, length } = looseHead(beginningOf(packed.subarray(0, LONGEST_HEAD)))
  return { type, bytes: inflated(packed, length + allowed(size, budget)).subarray(length) }
}

function looseHead(bytes: Buffer): { type: string; size: number; length: number } {
  const [head, type, size] = /^([a-z]+) (\d{1,15})\0/.exec(bytes.toString('latin1', 0, 40)) ?? []
  if (head === undefined) throw new NeedsGit('a loose object without a head')
  return { type: type!, size: Number(size), length: head.length }
}

function nameOf({ type, size, bytes }: WholeObject, format: ObjectFormat): string {
  return hash(format, Buffer.concat([Buffer.from(`${type} ${size}\0`), bytes]))
}
