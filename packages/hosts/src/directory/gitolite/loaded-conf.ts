import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { readRegularFile } from '@godwit/git/files/regular-file'
import { fileErrorReason } from '@godwit/git/files/repository-errors'
import { readEntries } from '@godwit/git/files/sync-fs'
import { Unreadable } from '@godwit/git/unreadable'
import { hasCode, ifExists } from '@godwit/lib/errno'
import { isName } from '@godwit/lib/names'

/** Gitolite's compiled configuration, including that of single repositories, and its users. */
export interface LoadedConf extends CompiledConf {
  /** Users with a key, or named in a rule, whose name is a valid login. By lower-case name, which several may share. */
  users: ReadonlyMap<string, readonly string[]>
  membersOf: MembersByGroup
  /** The roles that the creator of a repository may assign. */
  roles: ReadonlySet<string>
  /** Why the rules of a repository could not be read, by repository. */
  unreadable: ReadonlyMap<string, Unreadable>
  warnings: readonly string[]
}

const MAX_FILE_BYTES = 64 * 1024 * 1024
const DEFAULT_ROLES = ['READERS', 'WRITERS']

/** In gitolite `daemon` and `gitweb` are programs, not users. */
export const isLogin = (name: string): boolean =>
  isName(name) && name !== 'daemon' && name !== 'gitweb'

export const compiledFile = (gitoliteDirectory: string): string =>
  join(gitoliteDirectory, 'conf', 'gitolite.conf-compiled.pm')

/** Reads the compiled configuration, the `gl-conf` of single repositories, and the users. Rejects with Unreadable. */
export async function loadConf(gitoliteDirectory: string, root: string): Promise<LoadedConf> {
  const conf = await readParsed(compiledFile(gitoliteDirectory), parseCompiledConf)
  const unreadable = new Map<string, Unreadable>()
  for (const name of conf.split) {
    try {
      const repositoryConf = await readParsed(
        join(root, `${name}.git`, 'gl-conf'),
        parseRepositoryConf,
      )
      for (const [key, rules] of repositoryConf.rules) conf.rules.set(key, rules)
      for (const [key, options] of repositoryConf.options) conf.options.set(key, options)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      unreadable.set(name, error)
    }
  }
  const rc = await readRc(dirname(gitoliteDirectory)).catch((error: unknown) => {
    throw unreadablePermissions(`.gitolite.rc: ${fileErrorReason(error) ?? 'unreadable'}`, error)
  })
  const membersOf = membersByGroup(conf)
  const inRules = [...conf.rules.values()].flatMap((byUser) => [...byUser.keys()])
  const names = new Set([
    ...(await listKeyHolders(join(gitoliteDirectory, 'keydir'))),
    ...withMembers(inRules, membersOf),
  ])
  const users = Map.groupBy([...names].filter(isLogin), (name) => name.toLowerCase())
  const warnings = /^\s*GROUPLIST_PGM\s*=>/m.test(rc)
    ? ['GROUPLIST_PGM is set: groups that only this program knows are ignored']
    : []
  return { ...conf, users, membersOf, roles: rolesIn(rc), unreadable, warnings }
}

async function readParsed<T>(file: string, parse: (text: string) => T): Promise<T> {
  const text = await readRegularFile(file, MAX_FILE_BYTES).catch(throwUnreadableConf)
  try {
    return parse(text.toString())
  } catch (error) {
    throw unreadablePermissions((error as Error).message, error)
  }
}

/** Throws the error of reading a compiled file as Unreadable; the reason is 'not compiled' if the file is missing. */
export function throwUnreadableConf(error: unknown): never {
  const reason = hasCode(error, 'ENOENT') ? 'not compiled' : fileErrorReason(error)
  throw reason === undefined ? error : unreadablePermissions(reason, error)
}

export const unreadablePermissions = (reason: string, cause?: unknown): Unreadable =>
  new Unreadable(`gitolite's permissions cannot be read: ${reason}`, { cause })

/** Lists users with a key: `alice.pub`, `alice@laptop.pub` and `sub/alice.pub` are keys of alice. */
async function listKeyHolders(folder: string): Promise<string[]> {
  const entries = await readEntries(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return []
    throw unreadablePermissions(fileErrorReason(error) ?? 'keydir cannot be listed', error)
  })
  const holders: string[] = []
  for (const entry of entries) {
    if (entry.isDirectory())
      for (const each of await listKeyHolders(join(folder, entry.name))) holders.push(each)
    else if (entry.name.endsWith('.pub')) holders.push(entry.name.replace(/(@[^.]+)?\.pub$/, ''))
  }
  return holders
}

type MembersByGroup = ReadonlyMap<string, readonly { member: string }[]>

function membersByGroup({ groups }: CompiledConf): MembersByGroup {
  const pairs = [...groups].flatMap(([member, of]) => of.map((group) => ({ group, member })))
  return Map.groupBy(pairs, ({ group }) => group)
}

/** Returns the names, and the members of those that are groups. */
export function withMembers(names: Iterable<string>, membersOf: MembersByGroup): Set<string> {
  const all = new Set(names)
  for (const name of names) for (const { member } of membersOf.get(name) ?? []) all.add(member)
  return all
}

function rolesIn(rc: string): Set<string> {
  const [, configured] = /^\s*ROLES\s*=>\s*\{([^}]*)\}/m.exec(rc) ?? []
  if (configured === undefined) return new Set(DEFAULT_ROLES)
  return new Set([...configured.matchAll(/(\w+)['"]?\s*=>\s*['"]?[1-9]/g)].map(([, role]) => role!))
}

/**
 * Returns the `.gitolite` directory that controls a directory of repositories: the one beside it, or the one in the home of the user who
 * owns it, if the repositories of that gitolite are here. It must belong to the same user, or to root.
 */
export async function findGitolite(root: string): Promise<string | undefined> {
  const owner = (await ifExists(stat(root), 'ENOENT', 'ENOTDIR'))?.uid
  if (owner === undefined) return undefined
  const real = await realpath(root)
  const homes = [dirname(resolve(root)), dirname(real)]
  const home = await homeOf(owner)
  if (home !== undefined && (await repositoriesOf(home)) === real) homes.push(home)
  for (const each of homes) {
    const folder = join(each, '.gitolite')
    const stats = await ifExists(stat(folder), 'ENOENT', 'ENOTDIR')
    if (stats?.isDirectory() && [owner, 0].includes(stats.uid)) return folder
  }
  return undefined
}

async function homeOf(uid: number): Promise<string | undefined> {
  const users = (await ifExists(readFile('/etc/passwd', 'utf8'), 'ENOENT')) ?? ''
  const fields = users.split('\n').map((line) => line.split(':'))
  return fields.find((field) => field[2] === String(uid))?.[5] || undefined
}

/** Returns the directory of repositories of the gitolite in this home; undefined if this process may not read the home. */
async function repositoriesOf(home: string): Promise<string | undefined> {
  const rc = (await ifExists(readRc(home), 'EACCES')) ?? ''
  const [, configured] = /^\s*\$?(?:rc\{)?GL_REPO_BASE\}?\s*=>?\s*["']([^"']+)["']/m.exec(rc) ?? []
  const path = configured?.replace(/^\$ENV\{HOME\}/, home) ?? join(home, 'repositories')
  return ifExists(realpath(path), 'ENOENT', 'ENOTDIR', 'EACCES')
}

/** Reads gitolite's settings without comments. They are Perl code, of which only plain assignments are parsed. */
async function readRc(home: string): Promise<string> {
  const file = readFile(join(home, '.gitolite.rc'), 'utf8')
  const text = (await ifExists(file, 'ENOENT', 'ENOTDIR')) ?? ''
  return text.replace(/^\s*#.*$/gm, '')
}

/** An access rule: its sequence number, its permission (`R`, `RW+`, `-`, …) and a pattern of the refs that it applies to. */
export interface Rule {
  order: number
  permission: string
  refs: string
}

/** A `config` or `option` line of a repository. */
interface Option {
  order: number
  key: string
  value: string
}

/** Rules by repository, pattern or group of repositories, then by user or group of users. */
type RulesByName = Map<string, Map<string, Rule[]>>

export interface CompiledConf {
  rules: RulesByName
  options: Map<string, Option[]>
  /** The groups that a user, a repository or a pattern is in. */
  groups: Map<string, string[]>
  /** The patterns among the keys of `groups`. */
  groupPatterns: string[]
  /** Repositories whose rules are in a separate file, `gl-conf` in the repository. */
  split: Set<string>
}

const SUPPORTED_VERSION = '3.2'

/** Parses `conf/gitolite.conf-compiled.pm`. Throws if its version or format is not supported. */
export function parseCompiledConf(text: string): CompiledConf {
  const { data_version: version, repos, configs, groups, patterns, split_conf } = parseDump(text)
  if (version !== SUPPORTED_VERSION) throw new Error(`unsupported data version: ${version}`)
  return {
    ...convertRulesAndOptions(repos, configs),
    groups: mapValues(groups, (names) => asList(names).map(asString)),
    groupPatterns: Object.keys(asHash(asHash(patterns).groups)),
    split: new Set(Object.keys(asHash(split_conf))),
  }
}

/** Parses the `gl-conf` of one repository. Throws if its format is not supported. */
function parseRepositoryConf(text: string): Pick<CompiledConf, 'rules' | 'options'> {
  const { one_repo, one_config } = parseDump(text)
  return convertRulesAndOptions(one_repo, one_config)
}

function convertRulesAndOptions(repos: DumpedValue | undefined, configs: DumpedValue | undefined) {
  const toRule = (dumped: DumpedValue): Rule => {
    const [order, permission, refs] = asList(dumped)
    return { order: Number(order), permission: asString(permission), refs: asString(refs) }
  }
  const toOption = (dumped: DumpedValue): Option => {
    const [order, key, value] = asList(dumped)
    return { order: Number(order), key: asString(key), value: asString(value) }
  }
  return {
    rules: mapValues(repos, (users) => mapValues(users, (rules) => asList(rules).map(toRule))),
    options: mapValues(configs, (options) => asList(options).map(toOption)),
  }
}

function mapValues<T>(
  hash: DumpedValue | undefined,
  convert: (value: DumpedValue) => T,
): Map<string, T> {
  return new Map(Object.entries(asHash(hash)).map(([key, value]) => [key, convert(value)]))
}

/** A hash that the file does not have is empty. */
function asHash(dumped: DumpedValue = {}): DumpedHash {
  if (typeof dumped === 'object' && dumped !== null && !Array.isArray(dumped)) return dumped
  throw new Error('expected a hash')
}

function asList(dumped: DumpedValue): DumpedValue[] {
  if (Array.isArray(dumped)) return dumped
  throw new Error('expected a list')
}

function asString(dumped: DumpedValue | undefined): string {
  if (typeof dumped === 'string' || typeof dumped === 'number') return String(dumped)
  throw new Error('expected a string')
}

/** A value as Perl's Data::Dumper prints it. */
type DumpedValue = string | number | null | DumpedValue[] | DumpedHash
interface DumpedHash {
  [key: string]: DumpedValue
}

/** A variable that is assigned, a quoted text, or one of the other tokens of literal data. */
const TOKEN = /[%$](\w+)\s*=(?!>)|'((?:[^'\\]|\\.)*)'|-?\d+(?:\.\d+)?|undef\b|=>|[()[\]{},;]|\s+/sy
const AS_JSON: Readonly<Record<string, string>> = {
  ...{ '=>': ':', '(': '{', ')': '}', ';': ',' },
  undef: 'null',
}

/**
 * Parses the Perl code in which gitolite stores its compiled configuration: a sequence of `%name = ( … );` and `$name = …;`. The
 * code is not executed, but converted to JSON. Throws if it contains anything but literal data.
 */
export function parseDump(text: string): DumpedHash {
  let json = ''
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at
    const [token, variable, quoted] = TOKEN.exec(text) ?? []
    if (token === undefined) throw new Error(`expected literal data at character ${at}`)
    if (variable !== undefined) json += `"${variable}":`
    else if (quoted !== undefined) json += JSON.stringify(quoted.replace(/\\([\\'])/g, '$1'))
    else json += AS_JSON[token] ?? token
  }
  try {
    return JSON.parse(`{${json.trim().replace(/,$/, '')}}`)
  } catch (error) {
    // The message would quote the text.
    throw new Error('expected lists and hashes of literal data', { cause: error })
  }
}
