import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ManifestRepository } from '../archive/manifest.ts'

/** Objects of git and LFS have their digest in their name, or are in a pack that ends with its own. */
const PROVES_ITSELF = /^repositories\/[^/]+\/[^/]+\/(?:objects|lfs)\//

/**
 * Every file of an unpacked repository and its wiki that is not the one it was exported with, each in a line. None where
 * the manifest says nothing of files, as those of older formats.
 */
export async function fileDisagreements(
  root: string,
  { full_name, wiki, files }: ManifestRepository,
): Promise<string[]> {
  if (!files) return []
  const folders = wiki ? [`${full_name}.git`, `${full_name}.wiki.git`] : [`${full_name}.git`]
  const missing = new Map(files.map(({ path, sha256 }) => [path, sha256]))
  const faults: string[] = []
  for (const folder of folders)
    for await (const path of filesBelow(root, join('repositories', folder))) {
      if (PROVES_ITSELF.test(path)) continue
      const sha256 = missing.get(path)
      missing.delete(path)
      if (sha256 === undefined) faults.push(`${path} is in the archive and not in the manifest`)
      else if ((await digestOf(join(root, path))) !== sha256)
        faults.push(`${path} is not the file that was exported (SHA-256)`)
    }
  return [...faults, ...missing.keys().map((path) => `${path} is missing`)]
}

export async function* filesBelow(root: string, folder: string): AsyncGenerator<string> {
  const found = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
  for (const each of found)
    if (!each.isDirectory()) yield relative(root, join(each.parentPath, each.name))
}

export async function digestOf(file: string): Promise<string> {
  const digest = createHash('sha256')
  await pipeline(createReadStream(file), digest)
  return digest.digest('hex')
}
