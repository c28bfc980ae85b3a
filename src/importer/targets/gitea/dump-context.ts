import { createHash } from 'node:crypto'
import type { Git } from '../../../git/git.ts'
import type { SortedRows } from '../../../lib/sorted-rows.ts'
import type { Author, Reaction } from '../../../records/fact.ts'
import type { Repository } from '../../../records/repository.ts'
import type { PeopleMap } from '../../people-map.ts'
import type { ShelfName } from './fact-shelves.ts'
import type { StoredFiles } from './stored-file.ts'
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
