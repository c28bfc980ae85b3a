import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

/**
 * The beginning of a file inside a repository. Links are refused, or a repository could show any file of this machine;
 * so is what is no file, or a pipe could hold us for ever.
 */
export async function readSmallFile(path: string, limit: number): Promise<Buffer> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  await using file = await open(path, flags)
  if (!(await file.stat()).isFile()) {
    throw Object.assign(new Error('not a file'), { code: 'ELOOP' })
  }
  const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, 0)
  return buffer.subarray(0, bytesRead)
}
