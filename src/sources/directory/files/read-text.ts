import { codeOf } from '../../../lib/errno.ts'
import { readOwnFile } from './own-file.ts'
import { Unsupported } from './repository-errors.ts'

/** packed-refs of some million refs, which take a gigabyte and a half of memory; everything else is far smaller. */
const LARGEST_TEXT = 64 * 1024 * 1024

interface At {
  dir: string
  name: string
}

/**
 * A file of a repository as a byte string (latin1), or undefined where there is none. What is no file of its own is refused
 * by its name: a link could lead to any file of this machine, and a pipe would hold us for ever.
 */
export async function readText(
  at: At,
  path: string,
  largest = LARGEST_TEXT,
): Promise<string | undefined> {
  try {
    const here = Buffer.concat([Buffer.from(`${at.dir}/`), Buffer.from(path, 'latin1')])
    return (await readOwnFile(here, largest)).toString('latin1')
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw new Unsupported(at.name, `${path} is not a file of its own`, error)
    if (code === 'EFBIG') throw new Unsupported(at.name, `${path} is too large`, error)
    throw error
  }
}
