import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { unsafePath } from '../../../archive/entry-path.ts'

/** The unpacked file that a record names; undefined where there is none. Anybody may have written the record. */
export async function storedFile(root: string, path: string): Promise<string | undefined> {
  if (unsafePath(path) || !/^(?:attachments|release_assets|repository_files)\//.test(path))
    return undefined
  const found = await lstat(join(root, path)).catch(() => undefined)
  return found?.isFile() ? join(root, path) : undefined
}
