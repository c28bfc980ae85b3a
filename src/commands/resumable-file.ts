import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import type { Target } from '../client/download-archive.ts'
import { UserMistake } from '../user-mistake.ts'
import { moveIntoPlace } from './whole-file.ts'

export interface ResumableFile extends Target, AsyncDisposable {
  /** Where the bytes are until they are all there. */
  unfinished: string
  /** Durable, and under its own name. */
  finish(force: boolean): Promise<void>
  /** Forgets everything that came. */
  discard(): Promise<void>
}

/**
 * A file that comes in pieces: `FILE.part` and, beside it, the validator of what it is a part of, so that another run can
 * go on. The validator is there before the first byte and a new one means a new file, so bytes of two archives never
 * mix; bytes are written where they belong, so that two runs at once write the same.
 */
export async function resumableFile(file: string): Promise<ResumableFile> {
  const unfinished = `${file}.part`
  const validator = `${unfinished}.etag`
  const known = await readFile(validator, 'utf8').catch(() => undefined)
  let handle: FileHandle | undefined =
    known === undefined ? undefined : await open(unfinished, 'r+').catch(() => undefined)
  let position = handle ? (await handle.stat()).size : 0
  let etag = handle ? known : undefined

  async function discard(): Promise<void> {
    await handle?.close()
    handle = undefined
    position = 0
    etag = undefined
    for (const each of [unfinished, validator]) await rm(each, { force: true })
  }

  return {
    unfinished,
    discard,
    get position() {
      return position
    },
    get etag() {
      return etag
    },
    async begin(given) {
      await discard()
      if (given !== undefined) await writeWhole(validator, given)
      // An archive may hold what others on this machine must not read.
      handle = await open(unfinished, 'wx', 0o600)
      etag = given
    },
    async write(bytes) {
      for (let written = 0; written < bytes.length; ) {
        const { bytesWritten } = await handle!.write(bytes, written, undefined, position)
        written += bytesWritten
        position += bytesWritten
      }
    },
    async finish(force) {
      await handle!.sync()
      if ((await handle!.stat()).ino !== (await stat(unfinished)).ino)
        throw new UserMistake(`another download of ${file} took over; wait for that one`)
      await moveIntoPlace(unfinished, file, force)
      await rm(validator, { force: true })
    },
    async [Symbol.asyncDispose]() {
      await handle?.close()
    },
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`
  await writeFile(unfinished, text, { flush: true, mode: 0o600 })
  await rename(unfinished, file)
}
