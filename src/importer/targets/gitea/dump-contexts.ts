import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import type { Milestone, Repository } from '../../../records/repository.ts'
import type { PeopleMap } from '../../people-map.ts'
import type { Destination, Destinations } from './choose-repositories.ts'
import { type DumpContext, type DumpLabel, identities, milestoneTitles } from './dump-context.ts'
import { type LinkTargets, rewriteLinks } from './rewrite-links.ts'
import type { Spool } from './spool-facts.ts'
import type { StoredFiles } from './stored-file.ts'
import type { DumpTally } from './tally.ts'

interface Wishes {
  git: Git
  people: PeopleMap
  keepLinks: boolean
  target: string
}

interface Found {
  spool: Spool
  destinations: Destinations
  stored: StoredFiles
  workplace: string
  tally: DumpTally
}

/** What each repository's dump is made from. */
export function dumpContexts({ git, people, keepLinks, target }: Wishes, found: Found) {
  const { spool, stored, workplace, tally } = found
  const { rows } = spool
  const targets = linkTargets(found, target)
  const identity = identities(people, target !== '')
  return ({ fullName, owner, name }: Destination): { context: DumpContext; address: string } => {
    const folder = fullName.toLowerCase()
    const known = spool.repositories.get(folder)
    if (!known)
      tally.warn(
        'repositories',
        `${fullName} has no record that can be read: it is taken for private`,
      )
    const repository = known?.fact ?? unknownRepository(owner, name)
    const shelf: DumpContext['shelf'] = (kind) => `${kind} ${folder}`
    const milestones = Array.from(rows.all<Milestone>(shelf('milestones')), ([, each]) => each)
    const titles = milestoneTitles(milestones)
    for (const { number, title } of milestones)
      if (titles.get(number) !== title)
        tally.warn(
          'milestones',
          `${fullName}: a second milestone “${title}” is called “${titles.get(number)}”`,
        )
    const text = (body: string | null) =>
      body === null || keepLinks ? (body ?? '') : rewriteLinks(body, `${owner}/${name}`, targets)
    const context = {
      ...{ fullName, owner, name, repository, git, rows, stored, tally, shelf, identity, text },
      place: join(workplace, 'dumps', folder),
      labels: labelsOf(repository, spool.labels.get(folder) ?? []),
      milestones: titles,
    }
    return { context, address: known?.address ?? '' }
  }
}

function unknownRepository(owner: string, name: string): Repository {
  const unsaid = { description: null, website: null, defaultBranch: null, createdAt: '', git: '' }
  return { owner, name, private: true, labels: [], collaborators: [], ...unsaid }
}

/** Those of the repository, and those that issues have all the same: the server would drop what it does not know. */
function labelsOf({ labels }: Repository, used: Iterable<string>): Map<string, DumpLabel> {
  const all = new Map<string, DumpLabel>()
  for (const { name, color, description } of labels)
    all.set(name, { name, color: sixDigits(color), description: description ?? '' })
  for (const name of used)
    if (!all.has(name)) all.set(name, { name, color: NO_COLOR, description: '' })
  return all
}

const NO_COLOR = 'ededed'

/** Old servers fail at any other. */
function sixDigits(color: string): string {
  return /^#?([0-9a-f]{6})$/i.exec(color)?.[1] ?? NO_COLOR
}

function linkTargets({ spool, destinations }: Found, target: string): LinkTargets {
  const [byAddress, renamed] = [new Map<string, string>(), new Map<string, string>()]
  const folders = new Map<string, string>()
  for (const [folder, { fullName, owner, name }] of destinations) {
    const now = `${owner}/${name}`
    const address = spool.repositories.get(folder)?.address
    if (address) byAddress.set(address.toLowerCase(), now)
    if (now !== fullName) renamed.set(folder, now)
    folders.set(now, folder)
  }
  return {
    byAddress,
    longestAddress: byAddress.keys().reduce((most, { length }) => Math.max(most, length), 0),
    renamed,
    base: target === '' ? '/' : target,
    kindOf(fullName, number) {
      const folder = folders.get(fullName)
      if (spool.rows.has(`issues ${folder}`, number)) return 'issue'
      return spool.rows.has(`pulls ${folder}`, number) ? 'pull_request' : undefined
    },
  }
}
