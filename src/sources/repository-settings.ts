import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from './git.ts'
import { Unreadable } from './source.ts'
import { codeOf } from './unreadable.ts'

/** The repository's own config: each key, as git spells it in lower case, with its values in order. */
export type Settings = ReadonlyMap<string, readonly Value[]>

/** Null is a key that stands alone on its line, which git takes for true. */
type Value = string | null

const LARGEST_CONFIG = 4 * 1024 * 1024

/** Includes are not followed: they may lead anywhere, and a change behind one would go unnoticed. */
export async function readSettings(git: Git, dir: string, signal?: AbortSignal): Promise<Settings> {
  const settings = new Map<string, Value[]>()
  for (const setting of (await listed(git, dir, signal)).split('\0').slice(0, -1)) {
    const end = setting.indexOf('\n')
    const key = end === -1 ? setting : setting.slice(0, end)
    const values = settings.get(key) ?? []
    values.push(end === -1 ? null : setting.slice(end + 1))
    settings.set(key, values)
  }
  return settings
}

async function listed(git: Git, dir: string, signal?: AbortSignal): Promise<string> {
  const file = join(dir, 'config')
  const there = await stat(file).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  // Without a config it has git's defaults; a pipe in its place would hold git for ever.
  if (!there) return ''
  if (!there.isFile()) throw new Unreadable('its config is not a file')
  return git.text(['config', '--file', file, '--no-includes', '-z', '--list'], {
    maxBytes: LARGEST_CONFIG,
    ...(signal && { signal }),
  })
}

/** Of several the last counts. */
export function setting(settings: Settings, key: string): string | undefined {
  return settings.get(key)?.at(-1) ?? undefined
}

export function everySetting(settings: Settings, key: string): string[] {
  return (settings.get(key) ?? []).filter((value) => value !== null)
}

/** A boolean in any of git's spellings; undefined when it is not set, 'unclear' when it is set to something else. */
export function flag(settings: Settings, key: string): boolean | 'unclear' | undefined {
  const value = settings.get(key)?.at(-1)
  if (value === undefined) return undefined
  if (value === null || /^(?:true|yes|on)$/i.test(value)) return true
  if (/^(?:false|no|off|)$/i.test(value)) return false
  const number = /^([-+]?\d+)[kmg]?$/i.exec(value)
  return number ? Number(number[1]) !== 0 : 'unclear'
}
