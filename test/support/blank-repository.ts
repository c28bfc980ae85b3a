import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A bare repository that nothing was done to yet: tests make hundreds of them, and git is started for the first alone. */
export interface Blank {
  folders: string[]
  files: { path: string; bytes: Buffer; mode: number }[]
}

/** All of it, or what is named. */
export function lookOf(
  dir: string,
  paths: readonly string[] = readdirSync(dir, { recursive: true, encoding: 'utf8' }),
): Blank {
  const blank: Blank = { folders: [], files: [] }
  for (const path of paths) {
    const stat = statSync(join(dir, path))
    if (stat.isDirectory()) blank.folders.push(path)
    else blank.files.push({ path, bytes: readFileSync(join(dir, path)), mode: stat.mode })
  }
  return blank
}

export function makeLike(dir: string, { folders, files }: Blank): void {
  mkdirSync(dir, { recursive: true })
  for (const folder of folders) mkdirSync(join(dir, folder), { recursive: true })
  for (const { path, bytes, mode } of files) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), bytes, { mode })
  }
}
