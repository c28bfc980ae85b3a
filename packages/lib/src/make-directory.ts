import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasCode } from './errno.ts'

/**
 * Creates a directory and its missing parents. Node's recursive `mkdir` retries forever if the file system returns ENOENT although
 * the parent exists, as `/proc` does.
 */
export function makeDirectory(path: string, mode = 0o777): void {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (parent !== path) makeDirectory(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process may have created it.
    if (!hasCode(error, 'EEXIST') || !isDirectory(path)) throw error
  }
}

/** If a parent is a file, creating the directory below it fails with ENOTDIR. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}
