import { type FileHandle, lstat, open, readFile, rm, stat } from 'node:fs/promises'
import type { DownloadTarget } from '@godwit/contract/client/download-archive'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { ifExists } from '@godwit/lib/errno'
import { UserError } from '@godwit/lib/user-error'
import { moveIntoPlace, writeFileAtomically } from '../atomic-file.ts'

/**
 * A download that a later run can resume: `FILE.part` holds the bytes and `FILE.part.etag` the ETag of the archive, empty
 * if it has none. The ETag is written before the first byte, and a new ETag starts a new file, so bytes of two archives
 * never mix; a `.part` file without an ETag file belongs to another program. Bytes are written at their positions, so two runs at the same
 * time write the same file.
 */
export class ResumableFile implements DownloadTarget, AsyncDisposable {
  /** The path of `FILE.part`. */
  readonly unfinished: string
  position = 0
  etag: string | undefined
  readonly #file: string
  readonly #etagFile: string
  #handle: FileHandle | undefined

  private constructor(file: string) {
    this.#file = file
    this.unfinished = `${file}.part`
    this.#etagFile = `${this.unfinished}.etag`
  }

  static async open(file: string): Promise<ResumableFile> {
    const resumable = new ResumableFile(file)
    await resumable.#findUnfinished()
    return resumable
  }

  async #findUnfinished(): Promise<void> {
    const etag = await ifExists(readFile(this.#etagFile, 'utf8'), 'ENOENT')
    if (etag === undefined && (await ifExists(lstat(this.unfinished), 'ENOENT')))
      throw new UserError(
        `${this.unfinished} exists and is not a part of this download: rename or remove it`,
      )
    if (!etag) return
    this.#handle = await ifExists(open(this.unfinished, 'r+'), 'ENOENT')
    if (!this.#handle) return
    this.position = (await this.#handle.stat()).size
    this.etag = etag
  }

  async begin(etag: string | undefined): Promise<void> {
    await this.discard()
    await writeFileAtomically(this.#etagFile, [Buffer.from(etag ?? '')], { force: true })
    // Other users of this machine must not read an archive.
    this.#handle = await open(this.unfinished, 'wx', 0o600)
    this.etag = etag
  }

  async write(bytes: Uint8Array, remainingBytes?: number): Promise<void> {
    await withWriteContext(this.unfinished, () => this.#write(bytes), remainingBytes)
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await this.#handle!.write(bytes, written, undefined, this.position)
      written += bytesWritten
      this.position += bytesWritten
    }
  }

  /** Flushes the file and gives it its final name. */
  async finish(force: boolean): Promise<void> {
    await withWriteContext(this.unfinished, () => this.#handle!.sync())
    if ((await this.#handle!.stat()).ino !== (await stat(this.unfinished)).ino)
      throw new UserError(`another process is downloading ${this.#file}: wait for it to end`)
    await moveIntoPlace(this.unfinished, this.#file, force)
    await rm(this.#etagFile, { force: true })
  }

  /** Removes all downloaded bytes. */
  async discard(): Promise<void> {
    await this.#handle?.close()
    this.#handle = undefined
    this.position = 0
    this.etag = undefined
    for (const file of [this.unfinished, this.#etagFile]) await rm(file, { force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close()
  }
}
