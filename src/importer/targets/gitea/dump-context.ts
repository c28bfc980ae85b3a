import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import type { SortedRows } from '../../../lib/sorted-rows.ts'
import type { Author, Reaction } from '../../../records/fact.ts'
import type { Milestone, Repository } from '../../../records/repository.ts'
import type { PeopleMap } from '../../people.ts'
import type { Destination, Destinations } from './choose-repositories.ts'
import { type LinkTargets, rewriteLinks } from './rewrite-links.ts'
import type { ShelfName, Spool } from './spool-facts.ts'
import type { DumpTally } from './tally.ts'

/** What the files of one repository's dump are made from. */
export interface DumpContext {
  /** Where the dump is made; it is nobody else's until it is whole. */
  place: string
  repository: Repository
  /** `owner/name` as it is in the archive. */
  fullName: string
  /** As they are to be on the server. */
  owner: string
  name: string
  git: Git
  tally: DumpTally
  rows: SortedRows
  stored: StoredFiles
  labels: ReadonlyMap<string, DumpLabel>
  /** Titles by number, each title once. */
  milestones: ReadonlyMap<number, string>
  shelf(name: ShelfName): string
  identity(author: Author): Identity
  /** Text in which links lead to where things are now. */
  text(body: string | null): string
}

/** Where the files are that records name, and what they should be. */
export interface StoredFiles {
  /** The unpacked archive. */
  root: string
  /** SHA-256 by path; undefined where nobody has said. */
  digests: ReadonlyMap<string, string> | undefined
}

export interface DumpLabel {
  name: string
  color: string
  description: string
}

export function poster(context: DumpContext, author: Author) {
  const { id, name } = context.identity(author)
  return { poster_id: id, poster_name: name, poster_email: '' }
}

const LONGEST_TITLE = 255

/** Old servers on PostgreSQL or MySQL fail at a longer one; others cut it. */
export function dumpTitle({ tally, fullName }: DumpContext, number: number, title: string): string {
  const characters = Array.from(title)
  if (characters.length <= LONGEST_TITLE) return title
  tally.warn('titles', `${fullName}: the title of #${number} is cut to ${LONGEST_TITLE} characters`)
  return `${characters.slice(0, LONGEST_TITLE - 1).join('')}…`
}

/** One of each kind by each person: a second one, by somebody mapped to the same account, would end the restore. */
export function dumpReactions(context: DumpContext, reactions: readonly Reaction[]) {
  const seen = new Set<string>()
  return reactions.flatMap(({ author, content }) => {
    const { id, name } = context.identity(author)
    const key = `${content} ${name.toLowerCase()}`
    if (seen.has(key)) return []
    seen.add(key)
    return [{ user_id: id, user_name: name, content }]
  })
}

interface Sorted {
  number: number
  labels: readonly string[]
  milestone: number | null
  assignees: readonly string[]
}

/** What issues and pull requests have in common. */
export function dumpTriage(
  { labels, milestones, identity, tally, fullName }: DumpContext,
  { number, labels: names, milestone, assignees }: Sorted,
) {
  tally.skip('assignees', assignees.length)
  if (milestone !== null && !milestones.has(milestone))
    tally.warn(
      'milestones',
      `${fullName}: milestone ${milestone} of #${number} is not in the archive`,
    )
  return {
    milestone: milestone === null ? '' : (milestones.get(milestone) ?? ''),
    // The server fails at an issue that has a label twice.
    labels: [...new Set(names)].flatMap((name) => labels.get(name) ?? []),
    assignees: assignees.map((login) => identity(login).name),
  }
}

export function isLocked({ rows, shelf }: DumpContext, number: number): boolean {
  return rows.of<string>(shelf('locks'), number).at(-1) === 'locked'
}

/** The server knows a milestone by its title: of two with the same one, all issues would go to the last. */
export function milestoneTitles(
  milestones: readonly { number: number; title: string }[],
): Map<number, string> {
  const taken = new Set<string>(milestones.map(({ title }) => title))
  const seen = new Set<string>()
  const titles = new Map<number, string>()
  for (const { number, title } of milestones) {
    let own = title
    if (seen.has(title)) for (let n = 2; taken.has(own); n++) own = `${title} (${n})`
    for (const set of [taken, seen]) set.add(own)
    titles.set(number, own)
  }
  return titles
}

interface Identity {
  /** Never 0: then the server would take its own administrator for the author. */
  id: number
  name: string
}

/**
 * Whom the server is to show as the author. An account is named by its number and its name, both, and counts only where
 * `original_url` begins with the server's own address; all others stay original authors. Their numbers are below zero, where
 * no host has any: so nobody who linked an account of the same number is given their words. And they differ, because one
 * reaction of each number is all that old servers take.
 */
export function identities(
  people: PeopleMap,
  isTargetKnown: boolean,
): (author: Author) => Identity {
  return (author) => {
    const login = author ?? 'ghost'
    const { login: name, id } = people.get(login.toLowerCase()) ?? { login, id: undefined }
    return { name, id: isTargetKnown && id !== undefined ? id : numberBelowZero(name) }
  }
}

function numberBelowZero(name: string): number {
  const digest = createHash('sha256').update(name.toLowerCase()).digest()
  // Clear of -1, -2 and the like, which are accounts of the server's own.
  return -(1000 + digest.readUIntBE(0, 6))
}

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
