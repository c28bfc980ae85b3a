import { randomBytes, randomUUID } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'

/** More than the database needs to write the start of a small migration. */
const PROBED = randomBytes(64 * 1024)

/** Rejects where nothing can be written to the directory: its disk is full, read-only or gone. Leaves nothing behind. */
export async function probeWrite(directory: string): Promise<void> {
  const file = join(directory, `.write-probe-${randomUUID()}`)
  await using handle = await open(file, 'wx', 0o600)
  await unlink(file)
  await handle.writeFile(PROBED)
}
