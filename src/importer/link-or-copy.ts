import { copyFile, link } from 'node:fs/promises'
import { hasCode } from '../ground/errno.ts'

/** Some file systems have no links; some let nobody link to what another owns. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: unknown) => {
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS', 'EXDEV')) throw error
    return copyFile(from, to)
  })
}
