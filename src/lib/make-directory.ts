import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasCode } from './errno.ts'

/**
 * Makes a directory and those that it stands in, where they are not there yet. Node's own way to do so tries for ever where
 * a file system says "no such place" of a place whose parent is there, as `/proc` does.
 */
export function makeDirectory(path: string, mode = 0o777): void {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (parent !== path) makeDirectory(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another was quicker.
    if (!hasCode(error, 'EEXIST') || !isDirectory(path)) throw error
  }
}

/** A file on the way there is found out by making what is below it. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}
