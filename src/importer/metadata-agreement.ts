import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Manifest } from '../archive/manifest.ts'
import { kindOfFile } from '../records/record-file.ts'
import { digestOf } from './file-agreement.ts'

/**
 * Every file of an unpacked archive's metadata that is not the one it was exported with, each in a line. Undefined where
 * the manifest says nothing of them, as those of format 1.
 */
export async function metadataDisagreements(
  root: string,
  { metadata }: Manifest,
): Promise<string[] | undefined> {
  if (!metadata) return undefined
  const faults: string[] = []
  for (const { path, sha256 } of metadata.files) {
    const file = join(root, path)
    if (!existsSync(file)) faults.push(`${path}: is missing`)
    else if ((await digestOf(file)) !== sha256)
      faults.push(`${path}: is not the file that was exported (SHA-256)`)
  }
  const named = new Set(metadata.files.map(({ path }) => path))
  for (const name of (await readdir(root)).sort())
    if (kindOfFile(name) !== undefined && !named.has(name))
      faults.push(`${name}: is in the archive and not in the manifest`)
  return faults
}
