import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { UserError } from '../lib/user-error.ts'

const CORRUPT = 11
const NOT_A_DATABASE = 26

/** The file is damaged. Only a backup helps, so nothing more is written to it. */
export class DatabaseCorrupt extends UserError {
  override name = 'DatabaseCorrupt'
  constructor(path: string, cause: unknown) {
    const details = cause instanceof Error ? cause.message : cause
    super(`the database ${path} is damaged (${details}): restore it from a backup`, { cause })
  }
}

/** Returns the primary code of an SQLite error, without the upper bits of the extended code. */
export function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number }
  return errcode === undefined ? undefined : errcode & 0xff
}

export function isCorruption(error: unknown): boolean {
  const code = primaryCode(error)
  return code === CORRUPT || code === NOT_A_DATABASE
}

/** Reads the whole file and writes nothing. Opening it normally would first write what a crash left in the log. */
export function throwIfCorrupt(path: string): void {
  if (!existsSync(path)) return
  using db = new DatabaseSync(path, { readOnly: true })
  let result: unknown
  try {
    result = db.prepare('pragma quick_check(1)').get()?.quick_check
  } catch (error) {
    if (!isCorruption(error)) throw error
    throw new DatabaseCorrupt(path, error)
  }
  if (result !== 'ok') throw new DatabaseCorrupt(path, result)
}
