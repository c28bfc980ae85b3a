import { memoize } from '../../../lib/memoize.ts'
import type { CompiledConf, Rule } from './compiled-conf.ts'

/** What gitolite knows of one repository beside its configuration. */
export interface GitoliteRepository {
  /** Its path without `.git`, as gitolite names it. */
  name: string
  creator: string
  /** Who was given a role in it by its creator: lines of a role and its members. */
  roles: readonly (readonly [string, readonly string[]])[]
  /** Groups that it was put into by a file of its own. */
  groups: readonly string[]
}

export interface RepositoryRules {
  byUser: ReadonlyMap<string, readonly Rule[]>
  /** Whether rules that deny hold before it is known which ref is asked for. */
  denies: boolean
  /** Whether a pattern was met that only Perl understands; what it says of this repository is not known. */
  isUnclear: boolean
}

type Asked = 'R' | 'W' | '+'

/** The rules that are about a repository, by whom they are about. */
export function rulesOf(conf: CompiledConf, state: GitoliteRepository): RepositoryRules {
  const { names, isUnclear } = namesOf(conf, state)
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

/** Its own name, the patterns that fit it, and the groups that it is in. */
function namesOf(conf: CompiledConf, state: GitoliteRepository) {
  const known = [state.name, genericName(state)].filter((name) => name !== '')
  const names = new Set([state.name, '@all', ...state.groups])
  let isUnclear = false
  const fits = (pattern: string): boolean => {
    if (known.includes(pattern)) return true
    if (pattern.startsWith('@')) return false
    const expression = perlPattern(`^${pattern}$`)
    if (!expression) isUnclear = true
    return expression !== null && known.some((name) => expression.test(name))
  }
  for (const pattern of [...conf.rules.keys(), ...conf.options.keys()])
    if (fits(pattern)) names.add(pattern)
  for (const member of [...known, ...conf.groupPatterns.filter(fits)])
    for (const group of conf.groups.get(member) ?? []) names.add(group)
  return { names, isUnclear }
}

/** `pub/alice/site`, which alice created, is also known as `pub/CREATOR/site`. */
function genericName({ name, creator }: GitoliteRepository): string {
  const generic = creator && name.replace(perlPattern(`\\b${creator}\\b`) ?? '', 'CREATOR')
  return generic === name ? '' : generic
}

/** What a user is called in rules about a repository: by name, by group, by role. */
export function namesOfUser(conf: CompiledConf, user: string, state: GitoliteRepository): string[] {
  const names = new Set([user, '@all', ...(conf.groups.get(user) ?? [])])
  const roles = [...state.roles, ['CREATOR', [state.creator]] as const]
  const held = roles.filter(([, members]) => members.some((member) => names.has(member)))
  return [...names, ...held.map(([role]) => `@${role}`)]
}

/** What gitolite answers where it is not yet known which ref is meant; all rules count in the order of their lines. */
export function isAllowed(
  { byUser, denies }: Pick<RepositoryRules, 'byUser' | 'denies'>,
  names: readonly string[],
  asked: Asked,
): boolean {
  const rules = names.flatMap((name) => byUser.get(name) ?? []).sort((a, b) => a.order - b.order)
  for (const { permission, refs } of rules) {
    if (permission === '-') {
      if (denies) return false
    } else if (permission.includes(asked)) {
      // To rewind one's own branches is not to administer the repository.
      if (asked !== '+' || !refs.includes('/USER/')) return true
    }
  }
  return false
}

const MAX_REMEMBERED = 10_000

/** A pattern of gitolite's configuration; null where only Perl understands it. */
const perlPattern = memoize(MAX_REMEMBERED, (pattern: string): RegExp | null => {
  // Letters after a backslash that mean another thing to Perl, or nothing here.
  if (/\\[AzZGQEKRhHXNpPlLuU]/.test(pattern)) return null
  try {
    return new RegExp(pattern)
  } catch {
    return null
  }
})
