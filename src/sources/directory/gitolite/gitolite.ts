import { readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../../../lib/errno.ts'
import type { Collaborator, Permission } from '../../source.ts'
import { readOwnFile } from '../files/own-file.ts'
import { preciseStat } from '../files/sync-fs.ts'
import { reasonOf } from '../files/why-unreadable.ts'
import type { RepositoryDirectory } from '../repository-directory.ts'
import { type GitoliteRepository, isAllowed, namesOfUser, rulesOf } from './access.ts'
import {
  compiledFile,
  isLogin,
  type LoadedConf,
  loadConf,
  unreadableRights,
} from './loaded-conf.ts'

/** What gitolite lets its users do, read from what it has compiled: nothing of it is run or written. */
export interface Gitolite {
  warnings(): Promise<readonly string[]>
  isUser(login: string): Promise<boolean>
  /** Rejects with Unreadable. */
  collaborators(place: RepositoryDirectory): Promise<Collaborator[]>
}

const LARGEST_FILE = 1024 * 1024
/** From the least to the most. */
const LEVELS: readonly Permission[] = ['read', 'write', 'admin']

export function openGitolite(admin: string, root: string): Gitolite {
  let loaded: { times: string; conf: Promise<LoadedConf> } | undefined

  /** Every change of its configuration or its keys is compiled into a new file. */
  async function current(): Promise<LoadedConf> {
    const stats = await preciseStat(compiledFile(admin)).catch((error: unknown) => {
      const reason = hasCode(error, 'ENOENT') ? 'not compiled' : reasonOf(error)
      throw reason === undefined ? error : unreadableRights(reason, error)
    })
    const times = `${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs} ${stats.size}`
    if (loaded?.times !== times) loaded = { times, conf: loadConf(admin, root) }
    const { conf } = loaded
    // What could not be read may be readable the next time, without a new file.
    conf.catch(() => {
      if (loaded?.conf === conf) loaded = undefined
    })
    return conf
  }

  async function collaborators({
    dir,
    path,
    wikiDir,
  }: RepositoryDirectory): Promise<Collaborator[]> {
    const conf = await current()
    const own = await levelsIn(conf, admin, dir, path)
    // Who gets the repository gets its wiki with it.
    if (wikiDir !== null) keepLesser(own, await levelsIn(conf, admin, wikiDir, `${path}.wiki`))
    return asCollaborators(own, conf)
  }

  return {
    warnings: async () => (await current()).warnings,
    isUser: async (login) => (await current()).users.has(login.toLowerCase()),
    collaborators,
  }
}

type Levels = Map<string, Permission>

async function levelsIn(conf: LoadedConf, admin: string, dir: string, name: string) {
  const reason = conf.unreadable.get(name)
  if (reason !== undefined) throw unreadableRights(reason)
  const levels: Levels = new Map()
  // Gitolite lets nobody in where its hook is not in place.
  if (!(await isHooked(admin, dir))) return levels
  const state = await stateOf(conf, dir, name)
  const rules = rulesOf(conf, state)
  if (rules.isUnclear && rules.denies) return levels
  for (const user of candidates(conf, state, rules.byUser)) {
    const names = namesOfUser(conf, user, state)
    const may = (asked: 'R' | 'W' | '+') => isAllowed(rules, names, asked)
    if (!may('R')) continue
    const isAdmin = user === state.creator || may('+')
    levels.set(user, isAdmin ? 'admin' : may('W') ? 'write' : 'read')
  }
  return levels
}

async function isHooked(admin: string, dir: string): Promise<boolean> {
  const [own, common] = [join(dir, 'hooks', 'update'), join(admin, 'hooks', 'common', 'update')]
  const target = await readlink(own).catch(() => undefined)
  if (target === undefined) return false
  if (target === common) return true
  const [there, expected] = await Promise.all(
    [own, common].map((path) => realpath(path).catch(() => undefined)),
  )
  return there !== undefined && there === expected
}

async function stateOf(conf: LoadedConf, dir: string, name: string): Promise<GitoliteRepository> {
  const lines = (await textOf(dir, 'gl-perms')).split('\n').map(roleIn)
  const roles = lines.filter(([role]) => conf.roles.has(role))
  const groups = (await textOf(dir, 'gl-repo-groups')).split(/\s+/)
  return {
    name,
    creator: (await textOf(dir, 'gl-creator')).replace(/\n$/, ''),
    roles,
    groups: groups.filter((g) => /^[\w@-]+$/.test(g)).map((g) => g.replace(/^@?/, '@')),
  }
}

/** `READERS = alice @staff`. */
function roleIn(line: string): readonly [string, readonly string[]] {
  const [role = '', ...members] = line.replace('=', ' ').trim().split(/\s+/)
  return [role.replace(/^@/, ''), members]
}

async function textOf(dir: string, file: string): Promise<string> {
  const text = await readOwnFile(Buffer.from(join(dir, file)), LARGEST_FILE).catch(
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return ''
      throw unreadableRights(`${file}: ${reasonOf(error) ?? 'too large'}`, error)
    },
  )
  return text.toString()
}

/** Who could have a right by these rules: everyone only where something is said of everyone. */
function candidates(
  { users, membersOf }: LoadedConf,
  { roles, creator }: GitoliteRepository,
  byUser: ReadonlyMap<string, unknown>,
): Iterable<string> {
  const named = new Set([...byUser.keys(), ...roles.flatMap(([, members]) => members), creator])
  if (named.has('@all'))
    return new Set([...[...users.values()].flat(), ...named].filter(isUserName))
  for (const name of [...named]) for (const member of membersOf.get(name) ?? []) named.add(member)
  return [...named].filter(isUserName)
}

const isUserName = (name: string): boolean => name !== '' && !name.startsWith('@')

function keepLesser(levels: Levels, others: Levels): void {
  for (const [user, level] of levels) {
    const other = others.get(user)
    if (other === undefined) levels.delete(user)
    else levels.set(user, lesser(level, other))
  }
}

const lesser = (a: Permission, b: Permission): Permission =>
  LEVELS.indexOf(a) < LEVELS.indexOf(b) ? a : b

/** Logins disregard case, gitolite does not: of several users who would be one here, that one gets what all of them have. */
function asCollaborators(levels: Levels, { users }: LoadedConf): Collaborator[] {
  const collaborators: Collaborator[] = []
  for (const [login, own] of levels) {
    const all = (users.get(login.toLowerCase()) ?? [login]).map((user) => levels.get(user))
    if (!isLogin(login) || all.includes(undefined)) continue
    collaborators.push({ login, permission: all.reduce((a, b) => lesser(a!, b!)) ?? own })
  }
  return collaborators.sort((a, b) => (a.login < b.login ? -1 : 1))
}
