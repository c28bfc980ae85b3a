import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { UserError } from '../lib/user-error.ts'

const CORRUPT = 11
const NOT_A_DATABASE = 26

/** The file is not what was written to it. Nothing but a backup helps, so nothing more is written. */
export class DatabaseCorrupt extends UserError {
  override name = 'DatabaseCorrupt'
  constructor(path: string, cause: unknown) {
    const said = cause instanceof Error ? cause.message : cause
    super(`the database ${path} is damaged (${said}): restore it from a backup`, { cause })
  }
}

/** Of SQLite's error; its extended codes say more in the upper bits. */
export function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number }
  return errcode === undefined ? undefined : errcode & 0xff
}

export function isCorruption(error: unknown): boolean {
  const code = primaryCode(error)
  return code === CORRUPT || code === NOT_A_DATABASE
}

/** Reads the whole file, and writes nothing to it: not even what a crash left in the log, as opening it as usual does. */
export function throwIfCorrupt(path: string): void {
  if (!existsSync(path)) return
  using db = new DatabaseSync(path, { readOnly: true })
  let found: unknown
  try {
    found = db.prepare('pragma quick_check(1)').get()?.quick_check
  } catch (error) {
    if (!isCorruption(error)) throw error
    throw new DatabaseCorrupt(path, error)
  }
  if (found !== 'ok') throw new DatabaseCorrupt(path, found)
}
