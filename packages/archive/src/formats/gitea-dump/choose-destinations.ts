import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UserError } from '@godwit/lib/user-error'
import type { PeopleMap } from '../people.ts'

/** The owner and name that a repository gets on the target server. */
export interface Destination {
  /** `OWNER/NAME` as the archive spells it. */
  fullName: string
  owner: string
  name: string
}

/** Destinations by the full name in the archive, in lower case. */
export type Destinations = ReadonlyMap<string, Destination>

/**
 * Returns where each repository goes. Throws UserError if the server would refuse a name (the message lists all of them), or if
 * two repositories would get the same name.
 */
export function chooseDestinations(fullNames: readonly string[], people: PeopleMap): Destinations {
  const all = new Map<string, Destination>()
  for (const fullName of fullNames) {
    const [owner = '', name = ''] = fullName.split('/')
    const newOwner = people.get(owner.toLowerCase())?.login ?? owner
    all.set(fullName.toLowerCase(), { fullName, owner: newOwner, name })
  }
  checkNames([...all.values()])
  return all
}

function checkNames(destinations: readonly Destination[]): void {
  const lines = destinations.flatMap(({ fullName, owner, name }) => {
    const ownerRefusal = accountRefusal(owner)
    const reason = ownerRefusal
      ? `${owner}: ${ownerRefusal} (map it to another account with --people)`
      : repositoryRefusal(name)
    return reason ? [`  ${escapeForTerminal(fullName)}: ${reason}`] : []
  })
  if (lines.length > 0)
    throw new UserError(
      `nothing was written: Gitea and Forgejo refuse these names (to convert only the other repositories, name each with --include):\n${lines.join('\n')}`,
    )
  const byName = Map.groupBy(destinations, ({ owner, name }) => `${owner}/${name}`.toLowerCase())
  for (const [name, [first, second]] of byName)
    if (first && second)
      throw new UserError(`${first.fullName} and ${second.fullName} would both become ${name}`)
}

/** Account names that conflict with routes of the server. */
const RESERVED_ACCOUNTS = new Set(
  [
    '. .. .well-known admin api assets attachments avatar avatars captcha commits debug devtest error explore favicon.ico',
    'ghost issues login manifest.json metrics milestones new notifications org pulls raw repo repo-avatars robots.txt search',
    'serviceworker.js ssh_info swagger.v1.json user v2 gitea-actions forgejo-actions',
  ].flatMap((names) => names.split(' ')),
)
const RESERVED_REPOSITORIES = new Set(['.', '..', '-'])

/** Returns why some version of Gitea or Forgejo since 1.15 refuses this account name, or undefined if all accept it. */
export function accountRefusal(name: string): string | undefined {
  if (RESERVED_ACCOUNTS.has(name.toLowerCase())) return 'the name is reserved'
  if (/\.(?:keys|gpg|rss|atom|png)$/i.test(name)) return 'the name ends in a reserved suffix'
  if (name.length > 40) return 'the name has more than 40 characters'
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    return 'the name may have only letters, digits, ".", "_" and "-", and must begin with a letter or a digit'
  if (/[._-]{2}|[._-]$/.test(name))
    return 'the name has two of ".", "_" and "-" in a row, or ends in one'
  return undefined
}

/** Returns why Gitea or Forgejo refuses this repository name, or undefined if both accept it. */
export function repositoryRefusal(name: string): string | undefined {
  if (RESERVED_REPOSITORIES.has(name)) return 'the name is reserved'
  if (/\.(?:git|wiki|rss|atom)$/i.test(name)) return 'the name ends in a reserved suffix'
  if (name.length > 100) return 'the name has more than 100 characters'
  if (!/^[A-Za-z0-9._-]+$/.test(name))
    return 'the name may have only letters, digits, ".", "_" and "-"'
  if (name.includes('..')) return 'the name has ".." in it'
  return undefined
}
