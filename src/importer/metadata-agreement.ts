import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Manifest } from '../archive/manifest.ts'
import { kindOfFile } from '../records/record-file.ts'
import { digestOf, filesBelow } from './file-agreement.ts'

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

/** The same for the files that records name: attachments, and assets of releases. */
export async function* storedFileDisagreements(
  root: string,
  { stored_files = [] }: Manifest,
): AsyncGenerator<string> {
  const named = new Map(
    stored_files.flatMap(({ files }) => files.map(({ path, sha256 }) => [path, sha256] as const)),
  )
  const folders = new Set([...named.keys()].map((path) => path.split('/')[0]!))
  const found = new Set<string>()
  for (const folder of folders) {
    if (!existsSync(join(root, folder))) continue
    for await (const path of filesBelow(root, folder)) {
      found.add(path)
      const sha256 = named.get(path)
      if (sha256 === undefined) yield `${path}: is in the archive and not in the manifest`
      else if ((await digestOf(join(root, path))) !== sha256)
        yield `${path}: is not the file that was exported (SHA-256)`
    }
  }
  for (const path of named.keys()) if (!found.has(path)) yield `${path}: is missing`
}
