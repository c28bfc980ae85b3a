import { ArchiveRefused } from '../../../archive/unreadable-archive.ts'
import type { PeopleMap } from '../../people.ts'

/** The owner and name that a repository gets on the server. */
export interface Destination {
  /** `OWNER/NAME` as the archive spells it. */
  fullName: string
  owner: string
  name: string
}

/** By full name in lower case. */
export type Destinations = ReadonlyMap<string, Destination>

/**
 * Selects the repositories to dump from the `OWNER/NAME.git` folders of the archive. Throws ArchiveRefused if a wanted one is not
 * there, and lists all names that the server would refuse.
 */
export function chooseRepositories(
  folders: ReadonlySet<string>,
  wanted: readonly string[],
  people: PeopleMap,
): Destinations {
  const all = new Map<string, Destination>()
  for (const folder of folders) {
    const fullName = folder.replace(/\.git$/, '')
    const isWiki = folders.has(folder.replace(/\.wiki\.git$/, '.git')) && /\.wiki$/.test(fullName)
    const [owner = '', name = ''] = fullName.split('/')
    const mapped = people.get(owner.toLowerCase())?.login ?? owner
    if (!isWiki) all.set(fullName.toLowerCase(), { fullName, owner: mapped, name })
  }
  const missing = wanted.filter((name) => !all.has(name.toLowerCase()))
  if (missing.length > 0) throw new ArchiveRefused(`it does not hold ${missing.join(', ')}`)
  const names = wanted.map((name) => name.toLowerCase())
  const chosen = names.length === 0 ? all : new Map(names.map((name) => [name, all.get(name)!]))
  checkNames([...chosen.values()])
  return chosen
}

function checkNames(destinations: readonly Destination[]): void {
  const lines = destinations.flatMap(({ fullName, owner, name }) => {
    const ownerRefusal = accountRefusal(owner)
    const why = ownerRefusal
      ? `${owner}: ${ownerRefusal} (map it to another with --people)`
      : repositoryRefusal(name)
    return why ? [`  ${fullName}: ${why}`] : []
  })
  if (lines.length > 0)
    throw new ArchiveRefused(
      `Gitea and Forgejo refuse these names; nothing was written. Name the repositories to restore without them:\n${lines.join('\n')}`,
    )
  const byName = Map.groupBy(destinations, ({ owner, name }) => `${owner}/${name}`.toLowerCase())
  for (const [name, [first, second]] of byName)
    if (first && second)
      throw new ArchiveRefused(`${first.fullName} and ${second.fullName} would both be ${name}`)
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

/** Returns why some version of Gitea or Forgejo since 1.15 refuses an account of this name, or undefined if none does. */
export function accountRefusal(name: string): string | undefined {
  if (RESERVED_ACCOUNTS.has(name.toLowerCase())) return 'the name is reserved'
  if (/\.(?:keys|gpg|rss|atom|png)$/i.test(name)) return 'the name ends in a reserved way'
  if (name.length > 40) return 'the name has more than 40 characters'
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    return 'the name may have only letters, digits, ".", "_" and "-", and begins with a letter or a digit'
  if (/[._-]{2}|[._-]$/.test(name))
    return 'the name has two of ".", "_" and "-" side by side, or one at its end'
  return undefined
}

export function repositoryRefusal(name: string): string | undefined {
  if (RESERVED_REPOSITORIES.has(name)) return 'the name is reserved'
  if (/\.(?:git|wiki|rss|atom)$/i.test(name)) return 'the name ends in a reserved way'
  if (name.length > 100) return 'the name has more than 100 characters'
  if (!/^[A-Za-z0-9._-]+$/.test(name))
    return 'the name may have only letters, digits, ".", "_" and "-"'
  if (name.includes('..')) return 'the name has ".." in it'
  return undefined
}
