import { randomUUID } from 'node:crypto'
import {
  type FileHandle,
  lstat,
  open,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import type { Target } from '../../client/download-archive.ts'
import { writingTo } from '../../lib/disk-errors.ts'
import { ifExists } from '../../lib/errno.ts'
import { UserError } from '../../lib/user-error.ts'
import { moveIntoPlace } from '../whole-file.ts'

/**
 * A file that comes in pieces: `FILE.part` and, beside it, the validator of what it is a part of, so that another run can
 * go on. The validator, empty where there is none, is there before the first byte and a new one means a new file, so bytes
 * of two archives never mix, and a part without one is not ours; bytes are written where they belong, so that two runs at
 * once write the same.
 */
export class ResumableFile implements Target, AsyncDisposable {
  /** Where the bytes are until they are all there. */
  readonly unfinished: string
  position = 0
  etag: string | undefined
  readonly #file: string
  readonly #validator: string
  #handle: FileHandle | undefined

  private constructor(file: string) {
    this.#file = file
    this.unfinished = `${file}.part`
    this.#validator = `${this.unfinished}.etag`
  }

  static async open(file: string): Promise<ResumableFile> {
    const resumable = new ResumableFile(file)
    await resumable.#findUnfinished()
    return resumable
  }

  async #findUnfinished(): Promise<void> {
    const known = await ifExists(readFile(this.#validator, 'utf8'), 'ENOENT')
    if (known === undefined && (await ifExists(lstat(this.unfinished), 'ENOENT')))
      throw new UserError(
        `${this.unfinished} exists and is not a part of this download: rename or remove it`,
      )
    if (!known) return
    this.#handle = await ifExists(open(this.unfinished, 'r+'), 'ENOENT')
    if (!this.#handle) return
    this.position = (await this.#handle.stat()).size
    this.etag = known
  }

  async begin(etag: string | undefined): Promise<void> {
    await this.discard()
    await writingTo(this.#validator, () => writeWhole(this.#validator, etag ?? ''))
    // An archive may hold what others on this machine must not read.
    this.#handle = await open(this.unfinished, 'wx', 0o600)
    this.etag = etag
  }

  async write(bytes: Uint8Array, remainingBytes?: number): Promise<void> {
    await writingTo(this.unfinished, () => this.#write(bytes), remainingBytes)
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await this.#handle!.write(bytes, written, undefined, this.position)
      written += bytesWritten
      this.position += bytesWritten
    }
  }

  /** Durable, and under its own name. */
  async finish(force: boolean): Promise<void> {
    await writingTo(this.unfinished, () => this.#handle!.sync())
    if ((await this.#handle!.stat()).ino !== (await stat(this.unfinished)).ino)
      throw new UserError(`another process is downloading ${this.#file}: wait for it to end`)
    await moveIntoPlace(this.unfinished, this.#file, force)
    await rm(this.#validator, { force: true })
  }

  /** Forgets everything that came. */
  async discard(): Promise<void> {
    await this.#handle?.close()
    this.#handle = undefined
    this.position = 0
    this.etag = undefined
    for (const each of [this.unfinished, this.#validator]) await rm(each, { force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close()
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`
  try {
    await writeFile(unfinished, text, { flush: true, mode: 0o600 })
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}
