import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { hasCode } from './ground/errno.ts'
import { ConfigMistakes } from './user-mistake.ts'

/** Read where no other file is named, if it is there. */
export const STANDARD_CONFIG_FILE = '/etc/godwit/config'

/** `name = value`, as somebody wrote it. */
export interface ConfigLine {
  name: string
  text: string
  line: number
}

export interface ConfigFile {
  path: string
  /** Who named it. */
  from: 'flag' | 'environment' | 'default'
  lines: readonly ConfigLine[]
  /** What cannot be read as a setting, each with its line. */
  mistakes: readonly string[]
  /** It is there, but not for this user. Only the standard file may be so. */
  isDenied: boolean
  /** Every user of this machine can read it. */
  isOpenToAll: boolean
}

/** The file that was named, or the standard one where there is one. */
export function findConfigFile(
  { flag, variable }: { flag: string | undefined; variable: string | undefined },
  standard = STANDARD_CONFIG_FILE,
): ConfigFile | undefined {
  const named = flag ?? (variable || undefined)
  const path = resolve(named ?? standard)
  const from = flag !== undefined ? 'flag' : named === undefined ? 'default' : 'environment'
  const nothing = { path, from, lines: [], mistakes: [], isOpenToAll: false } as const
  try {
    const { text, isOpenToAll } = readWithMode(path)
    return { path, from, ...parseConfigFile(text, path), isDenied: false, isOpenToAll }
  } catch (error) {
    if (named !== undefined) throw new ConfigMistakes([`${spelt(from)}: ${reasonOf(error, path)}`])
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    if (hasCode(error, 'EACCES')) return { ...nothing, isDenied: true }
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

/** A name, then its value after `=` or a space. */
const LINE = /^([^\s=]+)(?:\s*=\s*|\s+|$)(.*)$/s
const NAME = /^[\w-]+$/

export function parseConfigFile(
  text: string,
  path: string,
): Pick<ConfigFile, 'lines' | 'mistakes'> {
  const lines: ConfigLine[] = []
  const mistakes: string[] = []
  for (const [index, each] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    const written = each.trim()
    if (written === '' || written.startsWith('#')) continue
    const line = index + 1
    const refuse = (why: string) => mistakes.push(`${path}:${line}: ${why}`)
    const [, name = '', rest = ''] = LINE.exec(written) ?? []
    if (!NAME.test(name)) {
      refuse('not a setting: write NAME = VALUE, or begin the line with # for a comment')
      continue
    }
    const value = valueIn(rest)
    if (value === undefined) refuse(`${name}: the quotes are not closed, or text follows them`)
    else if (value === '') refuse(`${name}: no value; remove the line, or put # before it`)
    else lines.push({ name, text: value, line })
  }
  return { lines, mistakes }
}

/** What follows a space and `#` is a comment, unless quotes are around it; undefined where the quotes are wrong. */
function valueIn(rest: string): string | undefined {
  const [quote] = rest
  if (quote === '"') {
    const inside = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/s.exec(rest)?.[1]
    return inside?.replace(/\\(["\\])/g, '$1')
  }
  if (quote === "'") return /^'([^']*)'\s*(?:#.*)?$/s.exec(rest)?.[1]
  return rest.replace(/(^|\s+)#.*$/s, '')
}
