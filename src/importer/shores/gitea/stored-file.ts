import { copyFile, link, lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { unsafePath } from '../../../archive/tar-header.ts'
import { hasCode } from '../../../ground/errno.ts'

/** The unpacked file that a record names; undefined where there is none. Anybody may have written the record. */
export async function storedFile(root: string, path: string): Promise<string | undefined> {
  if (unsafePath(path) || !/^(?:attachments|release_assets|repository_files)\//.test(path))
    return undefined
  const found = await lstat(join(root, path)).catch(() => undefined)
  return found?.isFile() ? join(root, path) : undefined
}

/** Some file systems have no links; some let nobody link to what another owns. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: unknown) => {
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS', 'EXDEV')) throw error
    return copyFile(from, to)
  })
}
