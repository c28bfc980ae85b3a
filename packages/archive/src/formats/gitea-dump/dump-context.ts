import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Git } from '@godwit/git/git'
import type { SortedRows } from '@godwit/lib/sorted-rows'
import type { Issue, Reaction } from '../../records/issue.ts'
import type { Team } from '../../records/people.ts'
import type { PullRequest } from '../../records/pull-request.ts'
import { type Author, COMMON_REACTIONS } from '../../records/record.ts'
import type { Repository } from '../../records/repository.ts'
import type { Conversion } from '../format.ts'
import type { PeopleMap } from '../people.ts'
import { RepositoryRecords, readRepositories, sortRecords } from '../sort-records.ts'
import type { Destination, Destinations } from './choose-destinations.ts'
import {
  type LinkTargets,
  linkTargets,
  restoreAttachmentUrls,
  rewriteLinks,
} from './rewrite-links.ts'

export interface GiteaDumpOptions {
  git: Git
  /** Dumps are written to OWNER/NAME in this directory, and restore.sh beside them. */
  into: string
  /** A directory on the file system of `into`, which the caller removes. */
  workDirectory: string
  people: PeopleMap
  keepLinks: boolean
  /** The URL of the server with a trailing slash, or empty if it is not known. */
  forge: string
}

/** A team with its access to one repository. */
export type DumpedTeam = Pick<Team, 'name' | 'description' | 'members' | 'units'> & {
  access: string
}

/** Reads the records of all repositories. The key of a repository is its full name in lower case. */
export async function readSiteRows(conversion: Conversion, rows: SortedRows) {
  const teams = new Map<string, DumpedTeam[]>()
  /** Names of the labels of issues and pull requests. */
  const labels = new Map<string, Set<string>>()
  const repositories = await readRepositories(conversion)
  await sortRecords(conversion, rows, (kind, record) => {
    if ('permissions' in record) {
      for (const { repository, access } of record.permissions) {
        const { name, description, members, units } = record
        const team = { name, description, members, units, access }
        teams.getOrInsertComputed(repository.toLowerCase(), () => []).push(team)
      }
      return 'not needed'
    }
    if ('repository' in record && 'labels' in record) {
      const key = record.repository.toLowerCase()
      const used = labels.getOrInsertComputed(key, () => new Set())
      for (const label of record.labels) used.add(label)
    }
    if ('event' in record)
      return /^(?:locked|unlocked|merged)$/.test(record.event) ? 'partly kept' : 'lost'
    return kind === 'commit_comments' ? 'lost' : undefined
  })
  return { rows, repositories, teams, labels }
}

/** Everything that the functions which write the dump of one repository need. */
export type DumpContext = ReturnType<ReturnType<typeof contextFactory>>

interface ContextOptions extends GiteaDumpOptions, Conversion {
  dumpRows: Awaited<ReturnType<typeof readSiteRows>>
  destinations: Destinations
}

/** Returns a function that creates the context of a repository. */
export function contextFactory(options: ContextOptions) {
  const { people, keepLinks, forge, dumpRows, workDirectory, report, content } = options
  const targets = targetsOf(options)
  /** Returns the author to show for a login. The id is never 0, which is the server's own administrator. */
  const identity = (author: Author) => {
    const login = author ?? 'ghost'
    const { login: name, id } = people.get(login.toLowerCase()) ?? { login, id: undefined }
    return { name, id: forge !== '' && id !== undefined ? id : originalAuthorId(name) }
  }
  return ({ fullName, owner, name }: Destination) => {
    const key = fullName.toLowerCase()
    const repository = dumpRows.repositories.get(key)!
    const records = new RepositoryRecords({ ...dumpRows, report }, fullName)
    /**
     * Returns a text with its links to the old host changed to the server, unless links are kept. Attachments have their old address,
     * because the server does not restore them. Returns '' for null.
     */
    const text = (body: string | null) => {
      const original = restoreAttachmentUrls(body ?? '', targets)
      return keepLinks ? original : rewriteLinks(original, `${owner}/${name}`, targets)
    }
    return {
      ...options,
      /** `owner` and `name` are those on the server, and `fullName` is that in the archive. */
      ...{ fullName, owner, name },
      repository,
      records,
      identity,
      text,
      milestones: records.uniqueMilestones(),
      /** The URL of the repository on its old host, or empty if it is not known. */
      oldUrl: content.urlOf(fullName),
      /** The directory where the dump is written. It is moved to the output when it is complete. */
      directory: join(workDirectory, 'dumps', key),
      teams: dumpRows.teams.get(key) ?? [],
      labels: labelsOf(repository, dumpRows.labels.get(key) ?? []),
    }
  }
}

/** Returns the labels of the repository, and those that only issues have, because the server drops unknown labels. */
function labelsOf({ labels }: Repository, used: Iterable<string>) {
  const all = new Map<string, { name: string; color: string; description: string }>()
  for (const { name, color, description } of labels) {
    // Old versions of the server fail to restore a color in any other format.
    const sixDigits = /^#?([0-9a-f]{6})$/i.exec(color)?.[1] ?? DEFAULT_COLOR
    all.set(name, { name, color: sixDigits, description: description ?? '' })
  }
  for (const name of used)
    if (!all.has(name)) all.set(name, { name, color: DEFAULT_COLOR, description: '' })
  return all
}

const DEFAULT_COLOR = 'ededed'

function targetsOf({
  dumpRows,
  destinations,
  report,
  content,
  forge,
}: ContextOptions): LinkTargets {
  const records = new Map<string, RepositoryRecords>()
  const attachments = new Map<string, string>()
  const names = Array.from(destinations.values(), ({ fullName, owner, name }) => {
    return { oldName: fullName, newName: `${owner}/${name}` }
  })
  for (const { oldName, newName } of names) {
    records.set(newName, new RepositoryRecords({ ...dumpRows, report }, oldName))
    for (const each of records.get(newName)!.all('attachments'))
      if ('oldUrl' in each && each.oldUrl !== undefined)
        attachments.set(each.uuid.toLowerCase(), each.oldUrl)
  }
  return linkTargets(names, content.urlOf, {
    attachments,
    base: forge === '' ? '/' : forge,
    kindOf: (fullName, number) => records.get(fullName)?.kindOf(number),
  })
}

export function poster(context: DumpContext, author: Author) {
  const { id, name } = context.identity(author)
  return { poster_id: id, poster_name: name, poster_email: '' }
}

/** Removes duplicates, because the server would abort the restore. They occur if two people are mapped to the same account. */
export function dumpReactions(context: DumpContext, reactions: readonly Reaction[]) {
  const seen = new Set<string>()
  return reactions.flatMap(({ author, content }) => {
    const { id, name } = context.identity(author)
    const key = `${content} ${name.toLowerCase()}`
    if (seen.has(key)) return []
    // The server shows them as reactions of the administrator, with the name beside them.
    if (id < 0) context.report.addLoss('reaction_authors')
    const why = `the server shows :${content}: only if its setting REACTIONS has it`
    if (!COMMON_REACTIONS.includes(content)) context.records.warn('reactions', why)
    seen.add(key)
    return [{ user_id: id, user_name: name, content }]
  })
}

/** Returns fields that issues and pull requests have in common. */
export function dumpTriage(
  { labels, milestones, identity, records }: DumpContext,
  issue: Pick<Issue | PullRequest, 'number' | 'labels' | 'milestone' | 'assignees'>,
) {
  const { number, labels: names, milestone, assignees } = issue
  if (milestone !== null && !milestones.has(milestone))
    records.warn('milestones', `milestone ${milestone} of #${number} is not in the archive`)
  return {
    milestone: milestone === null ? '' : (milestones.get(milestone)?.title ?? ''),
    // The server rejects an issue that has a label twice.
    labels: [...new Set(names)].flatMap((name) => labels.get(name) ?? []),
    // The server has the field in its schema, but does not restore it.
    assignees: assignees.map((login) => identity(login).name),
  }
}

/**
 * Returns an id for an original author: an author who is shown by name, without an account. The server assigns content to an account
 * if id and name match and `original_url` begins with the server's own URL. The ids of original authors are negative, so that the server
 * does not take them for ids of the old host, whose accounts its users may have linked. They differ, because old versions of the server
 * accept one reaction for each id.
 */
function originalAuthorId(name: string): number {
  // Ids such as -1 and -2 belong to built-in accounts of the server.
  return -(1000 + hash('sha256', name.toLowerCase(), 'buffer').readUIntBE(0, 6))
}
