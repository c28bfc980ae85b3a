import { dirname, join } from 'node:path'
import { hasCode } from '../../../lib/errno.ts'
import { isName } from '../../../lib/names.ts'
import { Unreadable } from '../../unreadable.ts'
import { readOwnFile } from '../files/own-file.ts'
import { entriesIn } from '../files/sync-fs.ts'
import { reasonOf } from '../files/why-unreadable.ts'
import { type CompiledConf, parseCompiledConf, parseOwnConf } from './compiled-conf.ts'
import { readRc } from './find-gitolite.ts'

/** All that gitolite has compiled, those of the repositories included, and who its users are. */
export interface LoadedConf extends CompiledConf {
  /** Who has a key, or is named, and can have a login here; by lower-case name, which several may share. */
  users: ReadonlyMap<string, readonly string[]>
  membersOf: ReadonlyMap<string, readonly string[]>
  /** Roles that the creator of a repository may give. */
  roles: ReadonlySet<string>
  /** Why the rules of a repository could not be read. */
  unreadable: ReadonlyMap<string, string>
  warnings: readonly string[]
}

const LARGEST_FILE = 64 * 1024 * 1024
const USUAL_ROLES = ['READERS', 'WRITERS']

/** Two names stand for programs. */
export const isLogin = (name: string): boolean =>
  isName(name) && name !== 'daemon' && name !== 'gitweb'

export const compiledFile = (admin: string): string =>
  join(admin, 'conf', 'gitolite.conf-compiled.pm')

export async function loadConf(admin: string, root: string): Promise<LoadedConf> {
  const conf = await readParsed(compiledFile(admin), parseCompiledConf)
  const unreadable = new Map<string, string>()
  for (const name of conf.split) {
    try {
      const own = await readParsed(join(root, `${name}.git`, 'gl-conf'), parseOwnConf)
      for (const [key, rules] of own.rules) conf.rules.set(key, rules)
      for (const [key, options] of own.options) conf.options.set(key, options)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      unreadable.set(name, error.message)
    }
  }
  const rc = await readRc(dirname(admin))
  const membersOf = membersByGroup(conf)
  const names = new Set([...(await keyHolders(join(admin, 'keydir'))), ...named(conf, membersOf)])
  const users = Map.groupBy([...names].filter(isLogin), (name) => name.toLowerCase())
  const warnings = /^\s*GROUPLIST_PGM\s*=>/m.test(rc)
    ? ['GROUPLIST_PGM is set: groups that only this program knows are not seen']
    : []
  return { ...conf, users, membersOf, roles: rolesIn(rc), unreadable, warnings }
}

async function readParsed<T>(file: string, parse: (text: string) => T): Promise<T> {
  const text = await readOwnFile(Buffer.from(file), LARGEST_FILE).catch((error: unknown) => {
    const reason = hasCode(error, 'ENOENT') ? 'not compiled' : reasonOf(error)
    throw reason === undefined ? error : unreadableRights(reason, error)
  })
  try {
    return parse(text.toString())
  } catch (error) {
    throw unreadableRights((error as Error).message, error)
  }
}

export const unreadableRights = (reason: string, cause?: unknown): Unreadable =>
  new Unreadable(`gitolite's permissions cannot be read: ${reason}`, { cause })

/** `alice.pub`, `alice@laptop.pub` and `sub/alice.pub` are keys of alice. */
async function keyHolders(folder: string): Promise<string[]> {
  const entries = await entriesIn(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return []
    throw unreadableRights(reasonOf(error) ?? 'keydir', error)
  })
  const holders: string[] = []
  for (const entry of entries) {
    if (entry.isDirectory())
      for (const each of await keyHolders(join(folder, entry.name))) holders.push(each)
    else if (entry.name.endsWith('.pub')) holders.push(entry.name.replace(/(@[^.]+)?\.pub$/, ''))
  }
  return holders
}

function membersByGroup({ groups }: CompiledConf): Map<string, string[]> {
  const members = new Map<string, string[]>()
  for (const [member, of] of groups)
    for (const group of of) {
      const known = members.get(group)
      if (known) known.push(member)
      else members.set(group, [member])
    }
  return members
}

/** Whom a rule names, or who is in a group that a rule names. */
function named({ rules }: CompiledConf, membersOf: Map<string, string[]>): Set<string> {
  const names = new Set([...rules.values()].flatMap((byUser) => [...byUser.keys()]))
  for (const name of [...names]) for (const member of membersOf.get(name) ?? []) names.add(member)
  return names
}

function rolesIn(rc: string): Set<string> {
  const [, stated] = /^\s*ROLES\s*=>\s*\{([^}]*)\}/m.exec(rc) ?? []
  if (stated === undefined) return new Set(USUAL_ROLES)
  return new Set([...stated.matchAll(/(\w+)['"]?\s*=>\s*['"]?[1-9]/g)].map(([, role]) => role!))
}
