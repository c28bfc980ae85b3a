import { join } from 'node:path'
import type { Git } from '../git.ts'
import { Unreadable } from '../unreadable.ts'
import { readRegularFile } from './regular-file.ts'
import { lstatIfExists } from './sync-fs.ts'

/** A git config: the values of each key in their order. Keys are in lower case, as git prints them. */
export type Settings = ReadonlyMap<string, readonly Value[]>

/** Null stands for a key without `=`, which git interprets as true. */
type Value = string | null

export const MAX_CONFIG_BYTES = 16 * 1024 * 1024
const MAX_LISTING_BYTES = 4 * 1024 * 1024
const MAX_PLAIN_BYTES = 64 * 1024
/** Included files can be on a disk that does not respond. */
const INCLUDES_TIMEOUT_MS = 10_000

/** Git, which reads a config that `parsePlainConfig` cannot parse. */
export interface ConfigReader {
  git: Git
  signal?: AbortSignal | undefined
}

/** Reads a repository's own config, without includes: they can lead anywhere, and a change in one would go unnoticed. */
export function readSettings(git: Git, dir: string, signal?: AbortSignal): Promise<Settings> {
  return readConfigFile(join(dir, 'config'), { git, signal })
}

/**
 * Reads any config file, without includes; a missing one is empty. Rejects with Unreadable if it is not a regular file, which
 * could block git or belong to another repository, or is too large.
 */
export async function readConfigFile(file: string, reader: ConfigReader): Promise<Settings> {
  const stats = await lstatIfExists(file)
  if (!stats) return new Map()
  if (!stats.isFile()) throw new Unreadable('its config is not a regular file')
  if (stats.size > MAX_CONFIG_BYTES) throw new Unreadable('its config is too large')
  const plain =
    stats.size > MAX_PLAIN_BYTES
      ? undefined
      : parsePlainConfig((await readRegularFile(file, MAX_PLAIN_BYTES)).toString())
  return plain ?? listSettings(file, reader, ['--no-includes'], { maxBytes: MAX_LISTING_BYTES })
}

/** Reads a config file and all that it includes. Rejects if git cannot read an included file. */
export function readConfigWithIncludes(file: string, reader: ConfigReader): Promise<Settings> {
  return listSettings(file, reader, ['--includes'], { timeoutMs: INCLUDES_TIMEOUT_MS })
}

async function listSettings(
  file: string,
  { git, signal }: ConfigReader,
  options: readonly string[],
  limits: { maxBytes?: number; timeoutMs?: number },
): Promise<Settings> {
  const listing = await git.text(['config', '--file', file, ...options, '-z', '--list'], {
    ...limits,
    ...(signal && { signal }),
  })
  const pairs = listing
    .split('\0')
    .slice(0, -1)
    .map((setting): [string, Value] => {
      const end = setting.indexOf('\n')
      return end === -1 ? [setting, null] : [setting.slice(0, end), setting.slice(end + 1)]
    })
  return groupValues(pairs)
}

function groupValues<V>(pairs: Iterable<[key: string, value: V]>): Map<string, V[]> {
  const settings = new Map<string, V[]>()
  for (const [key, value] of pairs) settings.getOrInsertComputed(key, () => []).push(value)
  return settings
}

export function hasIncludes(settings: Settings): boolean {
  return settings.keys().some(isInclude)
}

/** Returns the paths as the config states them, in the order of their keys. */
export function includedPaths(settings: Settings): string[] {
  const keys = [...settings.keys()].filter(isInclude)
  return keys.flatMap((key) => settingValues(settings, key))
}

const isInclude = (key: string): boolean => /^include(?:if\..*)?\.path$/s.test(key)

/** Returns the last value, which takes precedence in git. */
export function setting(settings: Settings, key: string): string | undefined {
  return settings.get(key)?.at(-1) ?? undefined
}

export function settingValues(settings: Settings, key: string): string[] {
  return (settings.get(key) ?? []).filter((value) => value !== null)
}

/** Parses a boolean in any of git's spellings. Returns undefined if it is not set, 'unclear' if it is not a boolean. */
export function flag(settings: Settings, key: string): boolean | 'unclear' | undefined {
  const value = settings.get(key)?.at(-1)
  if (value === undefined) return undefined
  if (value === null || /^(?:true|yes|on)$/i.test(value)) return true
  if (/^(?:false|no|off|)$/i.test(value)) return false
  const number = /^([-+]?\d+)[kmg]?$/i.exec(value)
  return number ? Number(number[1]) !== 0 : 'unclear'
}

const SECTION = /^[ \t]*\[([a-z0-9.-]+)(?: "([^"\\]*)")?\][ \t]*$/i
/** An entry whose value has no quotes, escapes or comments; blanks around the value are captured. */
const ENTRY = /^[ \t]*([a-z][a-z0-9-]*)[ \t]*=([^"\\#;]*)$/i
const EMPTY_OR_COMMENT = /^[ \t]*(?:[#;].*)?$/

/** Like `plainSettings`, with the values of each key. */
export function parsePlainConfig(text: string): Map<string, string[]> | undefined {
  const all = plainSettings(text)
  return all && groupValues(all)
}

/**
 * Parses a config without quotes, escapes and other special syntax, as most configs are; returns undefined if only git can parse it. The
 * settings are in the order in which `git config --list` prints them. Running `git config` instead takes 7 ms of CPU time, more than
 * reading all metadata of a small repository; this takes 0.1 ms.
 */
export function plainSettings(text: string): [key: string, value: string][] | undefined {
  // Git ends lines at a carriage return too, and stops at a null.
  if (text.length > MAX_PLAIN_BYTES || /[\r\0]/.test(text)) return undefined
  const settings: [key: string, value: string][] = []
  let section: string | undefined
  for (const line of text.split('\n')) {
    if (EMPTY_OR_COMMENT.test(line)) continue
    const [, name, subsection] = SECTION.exec(line) ?? []
    if (name !== undefined) {
      section = name.toLowerCase() + (subsection === undefined ? '' : `.${subsection}`)
      continue
    }
    const [, variable, padded] = ENTRY.exec(line) ?? []
    if (section === undefined || variable === undefined || padded === undefined) return undefined
    const value = trimBlanks(padded)
    // The meaning of a tab within a value depends on the version of git.
    if (value.includes('\t')) return undefined
    settings.push([`${section}.${variable.toLowerCase()}`, value])
  }
  return settings
}

/** A regular expression would take quadratic time for a long line of blanks with another character at its end. */
function trimBlanks(text: string): string {
  const isBlank = (at: number) => text[at] === ' ' || text[at] === '\t'
  let [from, to] = [0, text.length]
  while (from < to && isBlank(from)) from++
  while (to > from && isBlank(to - 1)) to--
  return text.slice(from, to)
}
