import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { lockFile } from '../../lib/file-lock.ts'
import { UserError } from '../../lib/user-error.ts'

/**
 * What was done on a server, one JSON value on each line. A line is on the disk before the next step begins. Only one process can have
 * a journal open. The last line is ignored if a crash truncated it: every step looks at the server before it writes.
 */
export class Journal {
  readonly #addresses: Map<string, string>
  readonly #file: FileHandle | undefined
  readonly #unlock: () => void

  private constructor(addresses: Map<string, string>, file?: FileHandle, unlock = () => {}) {
    this.#addresses = addresses
    this.#file = file
    this.#unlock = unlock
  }

  /** A dry run reads the journal and does not write it. */
  static async open(path: string, { isDryRun }: { isDryRun: boolean }): Promise<Journal> {
    if (isDryRun) return new Journal(await readAddresses(path))
    const file = await open(path, 'a').catch((error: Error) => {
      const message = `cannot write the journal of what was done: ${error.message}`
      throw new UserError(message, { cause: error })
    })
    const unlock = lockFile(`${path}.lock`)
    if (!unlock) {
      await file.close()
      throw new UserError(`another godwit finish is running: it has locked ${path}`)
    }
    // Ends a line that a crash truncated.
    if ((await file.stat()).size > 0) await file.write('\n')
    return new Journal(await readAddresses(path), file, unlock)
  }

  /** Returns the address of a file that an earlier run uploaded. */
  addressOf(file: string): string | undefined {
    return this.#addresses.get(file)
  }

  async record(done: { step: string; file?: string; address?: string }): Promise<void> {
    if (done.file && done.address) this.#addresses.set(done.file, done.address)
    await this.#file?.write(`${JSON.stringify({ at: new Date().toISOString(), ...done })}\n`)
    await this.#file?.sync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close()
    this.#unlock()
  }
}

async function readAddresses(path: string): Promise<Map<string, string>> {
  const addresses = new Map<string, string>()
  if (!existsSync(path)) return addresses
  for await (const line of createInterface(createReadStream(path)))
    try {
      const { file, address } = JSON.parse(line)
      if (typeof file === 'string' && typeof address === 'string') addresses.set(file, address)
    } catch {
      // An empty or truncated line.
    }
  return addresses
}
