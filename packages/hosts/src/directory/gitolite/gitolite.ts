import { hash } from 'node:crypto'
import { readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { readRegularFile } from '@godwit/git/files/regular-file'
import { fileErrorReason } from '@godwit/git/files/repository-errors'
import { preciseStat } from '@godwit/git/files/sync-fs'
import { hasCode, ifExists } from '@godwit/lib/errno'
import { memoize } from '@godwit/lib/memoize'
import {
  type Collaborator,
  PERMISSIONS,
  type Permission,
  type SourceMetadata,
} from '../../source.ts'
import type { RepositoryDirectory } from '../repository-directory.ts'
import {
  type CompiledConf,
  compiledFile,
  findGitolite,
  isLogin,
  type LoadedConf,
  loadConf,
  type Rule,
  throwUnreadableConf,
  unreadablePermissions,
  withMembers,
} from './loaded-conf.ts'

interface GitolitePermissions {
  collaborators: Collaborator[]
  isOwnerUser: boolean
  /** Changes with the others. */
  changeToken: string
}

const MAX_FILE_BYTES = 1024 * 1024

/**
 * Opens the permissions of gitolite's users, read from its compiled configuration. Neither runs gitolite nor writes its files. All
 * methods reject with Unreadable if the configuration cannot be read.
 */
function openGitolite(admin: string, root: string) {
  let loaded: { times: string; conf: Promise<LoadedConf> } | undefined

  /** Gitolite compiles every change of its configuration or keys into a new file. */
  async function current(): Promise<LoadedConf> {
    const stats = await preciseStat(compiledFile(admin)).catch(throwUnreadableConf)
    const times = `${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs} ${stats.size}`
    if (loaded?.times !== times) loaded = { times, conf: loadConf(admin, root) }
    const { conf } = loaded
    // After a failure the next call reads again, even if the file is unchanged.
    conf.catch(() => {
      if (loaded?.conf === conf) loaded = undefined
    })
    return conf
  }

  return {
    warnings: async (): Promise<readonly string[]> => (await current()).warnings,
    async permissions({
      owner,
      dir,
      path,
      wikiDir,
    }: RepositoryDirectory): Promise<GitolitePermissions> {
      const conf = await current()
      const own = await levelsIn(conf, admin, dir, path)
      // In Godwit, everybody who can read a repository can read its wiki.
      if (wikiDir !== null) keepLesser(own, await levelsIn(conf, admin, wikiDir, `${path}.wiki`))
      const collaborators = toCollaborators(own, conf)
      const isOwnerUser = conf.users.has(owner.toLowerCase())
      const changeToken = hash('sha256', JSON.stringify([collaborators, isOwnerUser]), 'base64url')
      return { collaborators, isOwnerUser, changeToken }
    },
  }
}

type Levels = Map<string, Permission>

async function levelsIn(conf: LoadedConf, admin: string, dir: string, name: string) {
  const failure = conf.unreadable.get(name)
  if (failure) throw failure
  const levels: Levels = new Map()
  // Without its hook, gitolite denies everybody access.
  if (!(await hasHook(admin, dir))) return levels
  const repository = await readRepository(conf, dir, name)
  const rules = rulesOf(conf, repository)
  if (rules.isUnclear && rules.denies) return levels
  for (const user of listCandidates(conf, repository, rules.byUser)) {
    const names = namesOfUser(conf, user, repository)
    const may = (access: Access) => isAllowed(rules, names, access)
    if (!may('R')) continue
    const isAdmin = user === repository.creator || may('+')
    levels.set(user, isAdmin ? 'admin' : may('W') ? 'write' : 'read')
  }
  return levels
}

/** Rejects with Unreadable if this cannot be determined. */
async function hasHook(admin: string, dir: string): Promise<boolean> {
  const [own, common] = [join(dir, 'hooks', 'update'), join(admin, 'hooks', 'common', 'update')]
  const unlessMissing = <T>(path: Promise<T>) =>
    ifExists(path, 'ENOENT', 'ENOTDIR', 'EINVAL', 'ELOOP').catch((error: unknown) => {
      throw unreadablePermissions(`hooks/update: ${fileErrorReason(error) ?? 'unreadable'}`, error)
    })
  // EINVAL is the code for a file that is not a link.
  const target = await unlessMissing(readlink(own))
  if (target === undefined) return false
  if (target === common) return true
  const [actual, expected] = await Promise.all(
    [own, common].map((path) => unlessMissing(realpath(path))),
  )
  return actual !== undefined && actual === expected
}

async function readRepository(
  conf: LoadedConf,
  dir: string,
  name: string,
): Promise<GitoliteRepository> {
  const lines = (await readFileOrEmpty(dir, 'gl-perms')).split('\n').map(parseRole)
  const roles = lines.filter(([role]) => conf.roles.has(role))
  const groups = (await readFileOrEmpty(dir, 'gl-repo-groups')).split(/\s+/)
  return {
    name,
    creator: (await readFileOrEmpty(dir, 'gl-creator')).replace(/\n$/, ''),
    roles,
    groups: groups.filter((g) => /^[\w@-]+$/.test(g)).map((g) => g.replace(/^@?/, '@')),
  }
}

/** Parses a line such as `READERS = alice @staff`. */
function parseRole(line: string): readonly [string, readonly string[]] {
  const [role = '', ...members] = line.replace('=', ' ').trim().split(/\s+/)
  return [role.replace(/^@/, ''), members]
}

async function readFileOrEmpty(dir: string, file: string): Promise<string> {
  const text = await readRegularFile(join(dir, file), MAX_FILE_BYTES).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return ''
    throw unreadablePermissions(`${file}: ${fileErrorReason(error) ?? 'unreadable'}`, error)
  })
  return text.toString()
}

/** Returns the users that these rules can give a permission: all users only if a rule names `@all`. */
function listCandidates(
  { users, membersOf }: LoadedConf,
  { roles, creator }: GitoliteRepository,
  byUser: ReadonlyMap<string, unknown>,
): Iterable<string> {
  const named = new Set([...byUser.keys(), ...roles.flatMap(([, members]) => members), creator])
  if (named.has('@all'))
    return new Set([...[...users.values()].flat(), ...named].filter(isUserName))
  return [...withMembers(named, membersOf)].filter(isUserName)
}

const isUserName = (name: string): boolean => name !== '' && !name.startsWith('@')

/** Removes from `levels` what `others` does not permit. */
function keepLesser(levels: Levels, others: Levels): void {
  for (const [user, level] of levels) {
    const other = others.get(user)
    if (other === undefined) levels.delete(user)
    else levels.set(user, lesser(level, other))
  }
}

const lesser = (a: Permission, b: Permission): Permission =>
  PERMISSIONS.indexOf(a) < PERMISSIONS.indexOf(b) ? a : b

/** Logins are case-insensitive here, but not in gitolite: users with the same login get the least permission among them. */
function toCollaborators(levels: Levels, { users }: LoadedConf): Collaborator[] {
  const collaborators: Collaborator[] = []
  for (const [login, own] of levels) {
    const all = (users.get(login.toLowerCase()) ?? [login]).map((user) => levels.get(user))
    if (!isLogin(login) || all.includes(undefined)) continue
    collaborators.push({ login, permission: all.reduce((a, b) => lesser(a!, b!)) ?? own })
  }
  return collaborators.sort((a, b) => (a.login < b.login ? -1 : 1))
}

/** The data that gitolite stores in the repository itself. */
interface GitoliteRepository {
  /** Its path without `.git`, as gitolite names it. */
  name: string
  creator: string
  /** The roles that its creator has assigned, with their members. */
  roles: readonly (readonly [string, readonly string[]])[]
  /** The groups that its own file adds it to. */
  groups: readonly string[]
}

interface RepositoryRules {
  byUser: ReadonlyMap<string, readonly Rule[]>
  /** Whether rules that deny access apply before the ref is known. */
  denies: boolean
  /** Whether there is a pattern that only Perl can parse: it may or may not match this repository. */
  isUnclear: boolean
}

type Access = 'R' | 'W' | '+'

function rulesOf(conf: CompiledConf, repository: GitoliteRepository): RepositoryRules {
  const { names, isUnclear } = namesOf(conf, repository)
  const byUser = new Map<string, Rule[]>()
  for (const name of names) {
    for (const [user, rules] of conf.rules.get(name) ?? []) {
      byUser.set(user, [...(byUser.get(user) ?? []), ...rules])
    }
  }
  const options = [...names]
    .flatMap((name) => conf.options.get(name) ?? [])
    .filter(({ key }) => key === 'gitolite-options.deny-rules')
    .sort((a, b) => a.order - b.order)
  const denies = !['', '0'].includes(options.at(-1)?.value ?? '')
  return { byUser, denies, isUnclear }
}

/** Returns the name of a repository, the patterns that match it, and its groups. */
function namesOf(conf: CompiledConf, repository: GitoliteRepository) {
  const known = [repository.name, genericName(repository)].filter((name) => name !== '')
  const names = new Set([repository.name, '@all', ...repository.groups])
  let isUnclear = false
  const matches = (pattern: string): boolean => {
    if (known.includes(pattern)) return true
    if (pattern.startsWith('@')) return false
    const expression = perlPattern(`^${pattern}$`)
    if (!expression) isUnclear = true
    return expression !== null && known.some((name) => expression.test(name))
  }
  for (const pattern of [...conf.rules.keys(), ...conf.options.keys()])
    if (matches(pattern)) names.add(pattern)
  for (const member of [...known, ...conf.groupPatterns.filter(matches)])
    for (const group of conf.groups.get(member) ?? []) names.add(group)
  return { names, isUnclear }
}

/** `pub/alice/site`, which alice created, is also known as `pub/CREATOR/site`. */
function genericName({ name, creator }: GitoliteRepository): string {
  const pattern = creator === '' ? null : perlPattern(`\\b${creator}\\b`)
  const generic = pattern ? name.replace(pattern, 'CREATOR') : name
  return generic === name ? '' : generic
}

/** Returns the names by which rules for a repository can refer to a user: the user name, groups and roles. */
function namesOfUser(conf: CompiledConf, user: string, repository: GitoliteRepository): string[] {
  const names = new Set([user, '@all', ...(conf.groups.get(user) ?? [])])
  const roles = [...repository.roles, ['CREATOR', [repository.creator]] as const]
  const held = roles.filter(([, members]) => members.some((member) => names.has(member)))
  return [...names, ...held.map(([role]) => `@${role}`)]
}

/** Returns gitolite's decision while it does not know the ref. Rules apply in the order of their lines. */
function isAllowed(
  { byUser, denies }: RepositoryRules,
  names: readonly string[],
  access: Access,
): boolean {
  const rules = names.flatMap((name) => byUser.get(name) ?? []).sort((a, b) => a.order - b.order)
  for (const { permission, refs } of rules) {
    if (permission === '-') {
      if (denies) return false
    } else if (permission.includes(access)) {
      // A user who may rewind only their own branches is not an administrator.
      if (access !== '+' || !refs.includes('/USER/')) return true
    }
  }
  return false
}

const MAX_CACHED_PATTERNS = 10_000

/** Converts a pattern of gitolite's configuration; returns null if only Perl can parse it. */
const perlPattern = memoize(MAX_CACHED_PATTERNS, (pattern: string): RegExp | null => {
  // Escapes that JavaScript does not have, or interprets differently.
  if (/\\[AzZGQEKRhHXNpPlLuU]/.test(pattern)) return null
  try {
    return new RegExp(pattern)
  } catch {
    return null
  }
})

/** Returns the gitolite that controls a directory of repositories. `refresh` repeats the search. */
export type FindGitolite = (options?: {
  refresh?: boolean
}) => Promise<ReturnType<typeof openGitolite> | undefined>

export function gitoliteFinder(root: string): FindGitolite {
  const open = memoize(1, (admin: string) => openGitolite(admin, root))
  let search: ReturnType<FindGitolite> | undefined

  async function find() {
    const admin = await findGitolite(root)
    return admin === undefined ? undefined : open(admin)
  }

  return ({ refresh = false } = {}) => {
    if (refresh || !search) search = find()
    return search
  }
}

/**
 * Returns why a repository is refused. An owner has every permission in Godwit, so a repository in the directory of a gitolite user is
 * listed only if gitolite gives that user every permission too.
 */
export function ownerRefusal(
  { owner }: RepositoryDirectory,
  permissions: GitolitePermissions,
): string | undefined {
  if (!permissions.isOwnerUser) return undefined
  const own = permissions.collaborators.find(
    ({ login }) => login.toLowerCase() === owner.toLowerCase(),
  )
  if (own?.permission === 'admin') return undefined
  return `${owner} would own it here, but gitolite does not give ${owner} RW+`
}

/** Adds gitolite's collaborators to the metadata. Those in the repository's own config take precedence. */
export function addPermissions(
  metadata: SourceMetadata,
  permissions: GitolitePermissions,
): SourceMetadata {
  const configured = new Set(metadata.collaborators.map(({ login }) => login.toLowerCase()))
  const others = permissions.collaborators.filter(
    ({ login }) => !configured.has(login.toLowerCase()),
  )
  return {
    ...metadata,
    collaborators: [...others, ...metadata.collaborators],
    ...(!permissions.isOwnerUser && { ownerIsOrganization: true as const }),
  }
}
