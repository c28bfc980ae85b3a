import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { Unreadable } from '../../unreadable.ts'
import { readOwnFile } from './own-file.ts'
import { lstatIfThere } from './sync-fs.ts'

/** The repository's own config: each key, as git spells it in lower case, with its values in order. */
export type Settings = ReadonlyMap<string, readonly Value[]>

/** Null is a key that stands alone on its line, which git takes for true. */
type Value = string | null

export const LARGEST_CONFIG = 16 * 1024 * 1024
const LARGEST_LISTING = 4 * 1024 * 1024
const LARGEST_PLAIN = 64 * 1024

/** Includes are not followed: they may lead anywhere, and a change behind one would go unnoticed. */
export function readSettings(git: Git, dir: string, signal?: AbortSignal): Promise<Settings> {
  return readSettingsIn(join(dir, 'config'), { git, signal })
}

/** What reads a config that only git understands. */
export interface ConfigReader {
  git: Git
  signal?: AbortSignal | undefined
}

/** Does the same for any file that is a config. */
export async function readSettingsIn(
  file: string,
  { git, signal }: ConfigReader,
): Promise<Settings> {
  const there = await lstatIfThere(file)
  // Without a config it has git's defaults. A pipe would hold git for ever, and a link could show what is another's.
  if (!there) return new Map()
  if (!there.isFile()) throw new Unreadable('its config is not a file of its own')
  if (there.size > LARGEST_CONFIG) throw new Unreadable('its config is too large')
  return (await readPlain(file, there.size)) ?? (await readByGit(git, file, signal))
}

async function readPlain(file: string, size: number): Promise<Settings | undefined> {
  if (size > LARGEST_PLAIN) return undefined
  return plainSettings((await readOwnFile(Buffer.from(file), LARGEST_PLAIN)).toString())
}

async function readByGit(git: Git, file: string, signal?: AbortSignal): Promise<Settings> {
  const listed = await git.text(['config', '--file', file, '--no-includes', '-z', '--list'], {
    maxBytes: LARGEST_LISTING,
    ...(signal && { signal }),
  })
  const settings = new Map<string, Value[]>()
  for (const setting of listed.split('\0').slice(0, -1)) {
    const end = setting.indexOf('\n')
    const key = end === -1 ? setting : setting.slice(0, end)
    const values = settings.get(key) ?? []
    values.push(end === -1 ? null : setting.slice(end + 1))
    settings.set(key, values)
  }
  return settings
}

export function includesOthers(settings: Settings): boolean {
  return settings.keys().some(isInclude)
}

/** As they are written, in the order of their keys. */
export function includedPaths(settings: Settings): string[] {
  const keys = [...settings.keys()].filter(isInclude)
  return keys.flatMap((key) => everySetting(settings, key))
}

const isInclude = (key: string): boolean => /^include(?:if\..*)?\.path$/s.test(key)

/** What is included may lie on a disk that does not answer: better found out impatiently. */
export const INCLUDES_TIMEOUT_MS = 10_000

/** Throws where git cannot read what the config includes. */
export async function tryIncludes(git: Git, dir: string, signal?: AbortSignal): Promise<void> {
  await git.run(['config', '--file', join(dir, 'config'), '--includes', '-z', '--list'], {
    timeoutMs: INCLUDES_TIMEOUT_MS,
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

const SECTION = /^[ \t]*\[([a-z0-9.-]+)(?: "([^"\\]*)")?\][ \t]*$/i
/** A value without quotes and comments, blanks around it and all. */
const ENTRY = /^[ \t]*([a-z][a-z0-9-]*)[ \t]*=([^"\\#;]*)$/i
const NOTHING = /^[ \t]*(?:[#;].*)?$/

/**
 * What a config says that holds nothing but plain lines, as most do: it takes longer to start git than to read all the rest.
 * Undefined where only git can tell.
 */
export function plainSettings(text: string): Map<string, string[]> | undefined {
  // Git ends lines at a carriage return too, and stops at a null.
  if (text.length > LARGEST_PLAIN || /[\r\0]/.test(text)) return undefined
  const settings = new Map<string, string[]>()
  let section: string | undefined
  for (const line of text.split('\n')) {
    if (NOTHING.test(line)) continue
    const [, name, below] = SECTION.exec(line) ?? []
    if (name !== undefined) {
      section = name.toLowerCase() + (below === undefined ? '' : `.${below}`)
      continue
    }
    const [, key, padded] = ENTRY.exec(line) ?? []
    if (section === undefined || key === undefined || padded === undefined) return undefined
    const value = withoutBlanks(padded)
    // What a tab within it means depends on the age of git.
    if (value.includes('\t')) return undefined
    const full = `${section}.${key.toLowerCase()}`
    const values = settings.get(full) ?? []
    values.push(value)
    settings.set(full, values)
  }
  return settings
}

/** By hand: an expression that trims takes hours for a line of blanks that ends in something else. */
function withoutBlanks(text: string): string {
  const isBlank = (at: number) => text[at] === ' ' || text[at] === '\t'
  let [from, to] = [0, text.length]
  while (from < to && isBlank(from)) from++
  while (to > from && isBlank(to - 1)) to--
  return text.slice(from, to)
}
