import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { hasCode, ifExists } from '../../../lib/errno.ts'
import { isName } from '../../../lib/names.ts'
import { Unreadable } from '../../unreadable.ts'
import { readRegularFile } from '../files/regular-file.ts'
import { fileErrorReason } from '../files/repository-errors.ts'
import { readEntries } from '../files/sync-fs.ts'
import { type CompiledConf, parseCompiledConf, parseRepositoryConf } from './compiled-conf.ts'

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
      const own = await readParsed(join(root, `${name}.git`, 'gl-conf'), parseRepositoryConf)
      for (const [key, rules] of own.rules) conf.rules.set(key, rules)
      for (const [key, options] of own.options) conf.options.set(key, options)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      unreadable.set(name, error)
    }
  }
  const rc = await readRc(dirname(gitoliteDirectory)).catch((error: unknown) => {
    throw unreadableRights(`.gitolite.rc: ${fileErrorReason(error) ?? 'unreadable'}`, error)
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
    throw unreadableRights((error as Error).message, error)
  }
}

/** Throws the error of reading a compiled file as Unreadable; the reason is 'not compiled' if the file is missing. */
export function throwUnreadableConf(error: unknown): never {
  const reason = hasCode(error, 'ENOENT') ? 'not compiled' : fileErrorReason(error)
  throw reason === undefined ? error : unreadableRights(reason, error)
}

export const unreadableRights = (reason: string, cause?: unknown): Unreadable =>
  new Unreadable(`gitolite's permissions cannot be read: ${reason}`, { cause })

/** Lists users with a key: `alice.pub`, `alice@laptop.pub` and `sub/alice.pub` are keys of alice. */
async function listKeyHolders(folder: string): Promise<string[]> {
  const entries = await readEntries(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return []
    throw unreadableRights(fileErrorReason(error) ?? 'keydir cannot be listed', error)
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
