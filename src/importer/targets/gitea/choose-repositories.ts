import { ArchiveRefused } from '../../../archive/unreadable-archive.ts'
import type { PeopleMap } from '../../people-map.ts'
import { accountRefusal, repositoryRefusal } from './refused-names.ts'

/** Where a repository of the archive is to live. */
export interface Destination {
  /** `OWNER/NAME` as the archive spells it. */
  fullName: string
  owner: string
  name: string
}

/** By full name in lower case. */
export type Destinations = ReadonlyMap<string, Destination>

/**
 * The repositories that are to be dumped, out of the `OWNER/NAME.git` that the archive holds. Refuses what is not there, and
 * all names that the server would refuse, in one go.
 */
export function chooseRepositories(
  folders: ReadonlySet<string>,
  asked: readonly string[],
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
  const names = asked.map((name) => name.toLowerCase())
  const missing = asked.filter((name) => !all.has(name.toLowerCase()))
  if (missing.length > 0) throw new ArchiveRefused(`it does not hold ${missing.join(', ')}`)
  const chosen = names.length === 0 ? all : new Map(names.map((name) => [name, all.get(name)!]))
  refuseNames([...chosen.values()])
  return chosen
}

function refuseNames(destinations: readonly Destination[]): void {
  const lines = destinations.flatMap(({ fullName, owner, name }) => {
    const whose = accountRefusal(owner)
    const why = whose
      ? `${owner}: ${whose} (map it to another with --people)`
      : repositoryRefusal(name)
    return why ? [`  ${fullName}: ${why}`] : []
  })
  if (lines.length > 0)
    throw new ArchiveRefused(
      `Gitea and Forgejo refuse these names; nothing was written. Name the repositories to restore without them:\n${lines.join('\n')}`,
    )
  const places = Map.groupBy(destinations, ({ owner, name }) => `${owner}/${name}`.toLowerCase())
  for (const [place, [first, second]] of places)
    if (first && second)
      throw new ArchiveRefused(`${first.fullName} and ${second.fullName} would both be ${place}`)
}
