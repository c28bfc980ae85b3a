import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { hasCode } from '@godwit/lib/errno'
import { ConfigError } from '@godwit/lib/user-error'
import { didYouMean } from './closest-name.ts'
import { path as pathValue } from './config-values.ts'
import { type AnyName, allNames, type FileSetting, fileNameOf, optionOf } from './setting-names.ts'

/** The default configuration file. It need not exist. */
export const DEFAULT_CONFIG_FILE = '/etc/godwit/config'

export interface ConfigFile {
  path: string
  from: 'flag' | 'environment' | 'default'
  /** Its settings, by their names in `settings.ts`. */
  settings: ReadonlyMap<string, FileSetting>
  /** Errors in the file, each with its line. */
  mistakes: readonly Mistake[]
  /** Whether this user may not read it. Only the default file may be unreadable. */
  isDenied: boolean
  /** Names of the secrets in it that every user of this machine can read. */
  exposedSecrets: readonly string[]
}

interface Mistake {
  message: string
  /** The setting whose value is wrong, which matters only to commands that use it. Absent if the line itself is wrong. */
  setting?: AnyName
}

/** Returns what is wrong in a file for a command that uses these settings. */
export const mistakesIn = (file: ConfigFile | undefined, settings: readonly AnyName[]): string[] =>
  (file?.mistakes ?? [])
    .filter(({ setting }) => setting === undefined || settings.includes(setting))
    .map(({ message }) => message)

/** Reads the file of --config or GODWIT_CONFIG, or the default one if it exists. */
export function findConfigFile(
  { flag, variable }: { flag: string | undefined; variable: string | undefined },
  defaultFile = DEFAULT_CONFIG_FILE,
): ConfigFile | undefined {
  const named = flag ?? (variable || undefined)
  const path = resolve(named ?? defaultFile)
  const from = flag !== undefined ? 'flag' : named === undefined ? 'default' : 'environment'
  try {
    const { text, mode } = readWithMode(path)
    const { settings, mistakes } = parseSettings(text, path)
    const exposedSecrets = (mode & 0o004) !== 0 ? findSecrets(settings) : []
    return { path, from, settings, mistakes, isDenied: false, exposedSecrets }
  } catch (error) {
    if (named !== undefined)
      throw new ConfigError([
        `${from === 'flag' ? '--config' : 'GODWIT_CONFIG'}: ${describeReadError(error, path)}`,
      ])
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    if (hasCode(error, 'EACCES')) {
      const nothing = { settings: new Map(), mistakes: [], exposedSecrets: [] }
      return { path, from, ...nothing, isDenied: true }
    }
    throw error
  }
}

function describeReadError(error: unknown, path: string): string {
  if (hasCode(error, 'ENOENT', 'ENOTDIR')) return `file ${path} does not exist`
  if (hasCode(error, 'EACCES')) return `this user may not read ${path}`
  if (hasCode(error, 'EISDIR')) return `${path} is a directory`
  return (error as Error).message
}

export const readWithMode = (path: string) => ({
  text: readFileSync(path, 'utf8'),
  mode: statSync(path).mode,
})

const byFileName = new Map(allNames.map((name) => [fileNameOf(name), name]))

function parseSettings(text: string, file: string): Pick<ConfigFile, 'settings' | 'mistakes'> {
  const settings = new Map<string, FileSetting>()
  const { lines, mistakes } = readConfigLines(text, file)
  const firstLines = new Map<string, number>()
  for (const each of lines) {
    const at = `${file}:${each.line}`
    const name = byFileName.get(each.name)
    if (name === undefined) {
      const message = `${at}: ${each.name}: unknown setting${suggestion(each.name)}`
      mistakes.push({ message })
      continue
    }
    const before = settings.get(name)
    const { isList, read } = optionOf(name)
    if (before && !isList) {
      const message = `${at}: ${each.name}: set twice; line ${firstLines.get(name)} sets it too`
      mistakes.push({ message })
      continue
    }
    firstLines.set(name, each.line)
    try {
      const text = read === pathValue ? resolvePath(each, file) : each.text
      settings.set(name, { text: before ? `${before.text},${text}` : text, at })
    } catch (error) {
      mistakes.push({ message: `${at}: ${each.name}: ${(error as Error).message}`, setting: name })
    }
  }
  return { settings, mistakes }
}

/** A relative path is relative to the directory of the file. */
function resolvePath({ text }: ConfigLine, file: string): string {
  if (/^~/.test(text)) throw new Error('~ is not expanded here; write the absolute path')
  return resolve(dirname(file), text)
}

/** Suggests a name. `written` may also be the flag or the variable of a setting. */
function suggestion(written: string): string {
  const plain = written
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/^--/, '')
    .replace(/^godwit-/, '')
  return didYouMean(plain, byFileName.keys())
}

function findSecrets(settings: ConfigFile['settings']): string[] {
  const address = URL.parse(settings.get('databaseUrl')?.text ?? '')
  const hasPassword = address?.password || address?.searchParams.has('password')
  return [...(hasPassword ? ['database-url'] : []), ...(settings.has('token') ? ['token'] : [])]
}

/** Returns a warning if every user of this machine can read secrets in the file. */
export function describeExposedSecrets(
  file: Pick<ConfigFile, 'path' | 'exposedSecrets'> | undefined,
) {
  if (!file || file.exposedSecrets.length === 0) return undefined
  return `every user of this machine can read ${file.path}, which contains secrets: ${file.exposedSecrets.join(', ')}`
}

type ConfigLine = { name: string; text: string; line: number }

/** A name, then its value after `=` or a space. */
const LINE = /^([^\s=]+)(?:\s*=\s*|\s+|$)(.*)$/s
const NAME = /^[\w-]+$/

/** Parses the lines of a file. A line that is not a setting, a comment or empty is a mistake. */
export function readConfigLines(text: string, path: string) {
  const lines: ConfigLine[] = []
  const mistakes: Mistake[] = []
  // trim() also removes a byte order mark.
  for (const [index, each] of text.split('\n').entries()) {
    const written = each.trim()
    if (written === '' || written.startsWith('#')) continue
    const line = index + 1
    const addMistake = (why: string) => mistakes.push({ message: `${path}:${line}: ${why}` })
    const [, name = '', rest = ''] = LINE.exec(written) ?? []
    if (!NAME.test(name)) {
      addMistake('not a setting: write NAME = VALUE, or begin the line with # for a comment')
      continue
    }
    const value = parseValue(rest)
    if (value === undefined) addMistake(`${name}: the quotes are not closed, or text follows them`)
    else if (value === '') addMistake(`${name}: no value; remove the line, or put # before it`)
    else lines.push({ name, text: value, line })
  }
  return { lines, mistakes }
}

/** Removes quotes, or a comment after a space and `#`. Returns undefined if a quote is not closed or text follows it. */
function parseValue(rest: string): string | undefined {
  const [quote] = rest
  if (quote === '"') {
    const inside = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/s.exec(rest)?.[1]
    return inside?.replace(/\\(["\\])/g, '$1')
  }
  if (quote === "'") return /^'([^']*)'\s*(?:#.*)?$/s.exec(rest)?.[1]
  return rest.replace(/(^|\s+)#.*$/s, '')
}
