import { copyFile, link, lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { isStoredFile } from '../../../archive/manifest.ts'
import { unsafePath } from '../../../archive/tar-header.ts'
import { hasCode } from '../../../lib/errno.ts'
import { CHANGED, UNNAMED } from '../../manifest-agreement.ts'
import { digestOf } from '../../segment-digests.ts'

/** Where the files are that records name, and what they should be. */
export interface StoredFiles {
  /** The unpacked archive. */
  root: string
  /** SHA-256 by path; undefined where nobody has said. */
  digests: ReadonlyMap<string, string> | undefined
}

export type DumpedFile = { file: string; bytes: number } | { lost: string }

/** The unpacked file that a record names, or why it is not restored. Anybody may have written the record. */
export async function storedFile(
  { root, digests }: StoredFiles,
  path: string,
  signal: AbortSignal,
): Promise<DumpedFile> {
  const missing = { lost: `${path} is not in the archive` }
  if (unsafePath(path) || !isStoredFile(path)) return missing
  const file = join(root, path)
  const found = await lstat(file).catch(() => undefined)
  if (!found?.isFile()) return missing
  if (digests) {
    const sha256 = digests.get(path)
    if (sha256 === undefined) return { lost: `${path} ${UNNAMED}` }
    if ((await digestOf(file, {}, signal)) !== sha256) return { lost: `${path} ${CHANGED}` }
  }
  return { file, bytes: found.size }
}

/** Some file systems have no links; some let nobody link to what another owns. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: unknown) => {
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS', 'EXDEV')) throw error
    return copyFile(from, to)
  })
}
