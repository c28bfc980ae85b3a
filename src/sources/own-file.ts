import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * Files inside a repository. Links are refused (ELOOP), or a repository could show any file of this machine; so is what is
 * no file, or a pipe could hold us for ever.
 */
async function openOwnFile(path: string | Buffer): Promise<FileHandle> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    // A socket cannot be opened at all.
    throw error.code === 'ENXIO' ? refusal('ELOOP', 'not a file') : error
  })
  const stats = await file.stat()
  if (stats.isFile()) return file
  await file.close()
  throw stats.isDirectory() ? refusal('EISDIR', 'a directory') : refusal('ELOOP', 'not a file')
}

/** The beginning of it. */
export async function readSmallFile(path: string, limit: number): Promise<Buffer> {
  await using file = await openOwnFile(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, 0)
  return buffer.subarray(0, bytesRead)
}

/** All of it; one that is larger than it should be is refused (EFBIG) rather than read into memory. */
export async function readOwnFile(path: string | Buffer, largest: number): Promise<Buffer> {
  await using file = await openOwnFile(path)
  const { size } = await file.stat()
  if (size > largest) throw refusal('EFBIG', `${size} bytes`)
  return file.readFile()
}

function refusal(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
