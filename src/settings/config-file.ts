import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { didYouMean } from '../lib/closest-name.ts'
import { hasCode } from '../lib/errno.ts'
import { ConfigError } from '../lib/user-error.ts'
import { type ConfigLine, readConfigLines } from './config-lines.ts'
import { path as pathValue } from './config-values.ts'
import { allNames, anyOptionOf, fileNameOf } from './setting-names.ts'

/** Read where no other file is named, if it is there. */
export const STANDARD_CONFIG_FILE = '/etc/godwit/config'

/** The value of a setting in a file. */
interface FileSetting {
  text: string
  /** `FILE:LINE`, the last where it stands on several. */
  at: string
}

export interface ConfigFile {
  path: string
  /** Who named it. */
  from: 'flag' | 'environment' | 'default'
  /** By the name that the setting has in the code. */
  settings: ReadonlyMap<string, FileSetting>
  /** What is wrong with it, each with its line. */
  mistakes: readonly string[]
  /** It is there, but not for this user. Only the standard file may be so. */
  isDenied: boolean
  /** Names of the secrets in it, where every user of this machine can read them. */
  exposedSecrets: readonly string[]
}

/** The file that was named, or the standard one where there is one. */
export function findConfigFile(
  { flag, variable }: { flag: string | undefined; variable: string | undefined },
  standard = STANDARD_CONFIG_FILE,
): ConfigFile | undefined {
  const named = flag ?? (variable || undefined)
  const path = resolve(named ?? standard)
  const from = flag !== undefined ? 'flag' : named === undefined ? 'default' : 'environment'
  try {
    const { text, isOpenToAll } = readWithMode(path)
    const { settings, mistakes } = settingsIn(text, path)
    const exposedSecrets = isOpenToAll ? secretsAmong(settings) : []
    return { path, from, settings, mistakes, isDenied: false, exposedSecrets }
  } catch (error) {
    if (named !== undefined) throw new ConfigError([`${spelt(from)}: ${reasonOf(error, path)}`])
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    if (hasCode(error, 'EACCES')) {
      const nothing = { settings: new Map(), mistakes: [], exposedSecrets: [] }
      return { path, from, ...nothing, isDenied: true }
    }
    throw error
  }
}

const spelt = (from: ConfigFile['from']): string => (from === 'flag' ? '--config' : 'GODWIT_CONFIG')

function reasonOf(error: unknown, path: string): string {
  if (hasCode(error, 'ENOENT', 'ENOTDIR')) return `file ${path} does not exist`
  if (hasCode(error, 'EACCES')) return `this user may not read ${path}`
  if (hasCode(error, 'EISDIR')) return `${path} is a directory`
  return (error as Error).message
}

function readWithMode(path: string): { text: string; isOpenToAll: boolean } {
  const file = openSync(path, 'r')
  try {
    const { mode } = fstatSync(file)
    return { text: readFileSync(file, 'utf8'), isOpenToAll: (mode & 0o004) !== 0 }
  } finally {
    closeSync(file)
  }
}

const byFileName = new Map(allNames.map((name) => [fileNameOf(name), name]))

/** What of a file is a setting, and what is wrong with the rest of it. */
function settingsIn(text: string, file: string): Pick<ConfigFile, 'settings' | 'mistakes'> {
  const settings = new Map<string, FileSetting>()
  const { lines, mistakes } = readConfigLines(text, file)
  const firstLines = new Map<string, number>()
  for (const each of lines) {
    const at = `${file}:${each.line}`
    const name = byFileName.get(each.name)
    if (name === undefined) {
      mistakes.push(`${at}: ${each.name}: unknown setting${suggestion(each.name)}`)
      continue
    }
    const before = settings.get(name)
    const { isList, read } = anyOptionOf(name)
    if (before && !isList) {
      mistakes.push(`${at}: ${each.name}: set twice; line ${firstLines.get(name)} sets it too`)
      continue
    }
    firstLines.set(name, each.line)
    try {
      const text = read === pathValue ? absolute(each, file) : each.text
      settings.set(name, { text: before ? `${before.text},${text}` : text, at })
    } catch (error) {
      mistakes.push(`${at}: ${each.name}: ${(error as Error).message}`)
    }
  }
  return { settings, mistakes }
}

/** It must mean the same whatever directory the reader stands in. */
function absolute({ text }: ConfigLine, file: string): string {
  if (/^~/.test(text)) throw new Error('~ has no meaning here; write the whole path')
  return resolve(dirname(file), text)
}

/** The names of the flags; some write them as they are on a command line or in an environment. */
function suggestion(written: string): string {
  const plain = written
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/^--/, '')
    .replace(/^godwit-/, '')
  return didYouMean(plain, byFileName.keys())
}

function secretsAmong(settings: ConfigFile['settings']): string[] {
  const address = URL.parse(settings.get('databaseUrl')?.text ?? '')
  const hasPassword = address?.password || address?.searchParams.has('password')
  return [...(hasPassword ? ['database-url'] : []), ...(settings.has('token') ? ['token'] : [])]
}

/** Said of a file whose secrets every user of this machine can read; undefined of any other. */
export function exposedFile(
  file: Pick<ConfigFile, 'path' | 'exposedSecrets'> | undefined,
): string | undefined {
  if (!file || file.exposedSecrets.length === 0) return undefined
  return `every user of this machine can read ${file.path}, which contains secrets: ${file.exposedSecrets.join(', ')}`
}
