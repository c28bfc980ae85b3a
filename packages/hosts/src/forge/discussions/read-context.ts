import { HostUnavailable } from '../../host-errors.ts'
import { repositoryPath, segment } from '../../host-url.ts'
import { undefinedIfAbsent } from '../../http/confirm-absence.ts'
import { type Query, RETRY_AFTER_MS } from '../../http/http-client.ts'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { type Listing, listAll, listUnpaged } from '../../http/pages.ts'
import type { ForgeVersion } from '../client/forge-version.ts'
import type { KnownHost } from '../client/known-forge.ts'
import type { People } from '../records/people-records.ts'

/** The repository that is being read, and what the read collects. */
export interface ReadContext {
  forge: KnownHost
  owner: string
  name: string
  /** `owner/name` */
  fullName: string
  notes: Notes
  people: People
  signal: AbortSignal
  /** Returns an answer of the forge that concerns several repositories. It may have been requested while another one was read. */
  share<T>(key: string, load: () => Promise<T>): Promise<T>
  /** The number of the issue or pull request that is being read. */
  issueNumber?: number
}

/** The owner of repositories that is being read. */
export type OwnerContext = Pick<ReadContext, 'forge' | 'owner' | 'signal' | 'share'>

/** Gets a path below the repository, such as `issues/12`. */
export const getPart = (context: ReadContext, part: string, query: Query = {}) =>
  context.forge.client.get(`${repositoryPath(context)}/${part}`, query, context.signal)

/** Lists a path below the repository that has pages, such as `issues`. */
export function listPart(
  context: ReadContext,
  part: string,
  options: Pick<Listing, 'query' | 'keyOf' | 'onMissing'> = {},
) {
  const { client, paging } = context.forge
  return listAll(client, { ...listingOf(context, part), ...paging, ...options }, context.signal)
}

/** Lists a path below the repository that has no pages. */
export const listUnpagedPart = (context: ReadContext, part: string, keyOf?: Listing['keyOf']) =>
  listUnpaged(
    context.forge.client,
    { ...listingOf(context, part), ...(keyOf && { keyOf }) },
    context.signal,
  )

/** Returns a listing that adds a note about entries that the forge does not send. */
export const listingOf = (context: ReadContext, part: string): Omit<Listing, 'limit'> => ({
  path: `${repositoryPath(context)}/${part}`,
  onMissing: (count) => context.notes.addMissing(part, count, context.issueNumber),
})

/** Returns the result of `request`, or undefined if the forge confirms that the object does not exist. */
export const ifExists = <T>({ forge, signal }: ReadContext, request: () => Promise<T>) =>
  undefinedIfAbsent(forge.client, request, signal)

/** A part of a repository that can be turned off. The forge then responds with 404 for it. */
type Part = 'issues and pull requests' | 'labels' | 'milestones' | 'releases'

/**
 * Returns the result of `request`, or undefined and adds a note if the part is turned off. Rejects with HostUnavailable if the
 * forge responds with 404 although the repository lists the part as turned on.
 */
export async function unlessTurnedOff<T>(
  context: ReadContext,
  repository: Json,
  part: Part,
  request: () => Promise<T>,
): Promise<T | undefined> {
  const found = await ifExists(context, request)
  if (found !== undefined) return found
  if (isTurnedOn(repository, part)) {
    const dueAt = context.forge.client.now() + RETRY_AFTER_MS
    const message = `the forge says that ${part} of ${context.fullName} are turned on, but does not return them`
    throw new HostUnavailable(dueAt, 'unreachable', message)
  }
  context.notes.addTurnedOff(part)
  return undefined
}

/** Old versions lack some of these fields. Gitea serves labels and milestones if it serves issues or pull requests. */
function isTurnedOn(repository: Json, part: Part): boolean {
  if (part === 'releases') return repository.has_releases === true
  const hasIssues = repository.has_issues === true && !repository.external_tracker
  // Mirrors and empty repositories have no pull requests, even if they are turned on.
  const mayHavePulls = repository.mirror !== true && repository.empty !== true
  return hasIssues || (repository.has_pull_requests === true && mayHavePulls)
}

/** Returns undefined if the owner is a person. Only organizations have their own labels, members and teams. */
export async function findOrganization({
  forge: { client, notOrganizations },
  owner,
  signal,
  share,
}: OwnerContext): Promise<Json | undefined> {
  if (notOrganizations.has(owner)) return undefined
  const request = () => client.get(`/orgs/${segment(owner)}`, {}, signal)
  const found = await share(`organization ${owner}`, () =>
    undefinedIfAbsent(client, request, signal),
  )
  if (!found) notOrganizations.add(owner)
  return found && json.objectOf(found.body)
}

// Notes are stored with the cursor and recognized by these words. If you change the words, notes in the old words are never removed.
const TURNED_OFF = ' are turned off on the forge'
const MISSING = ' missing: the forge lists or counts them but does not return them'
const NOT_REPORTED =
  'the forge does not report new reactions, edited inline comments and resolved threads'

/** Returns the note for records that were stored by an earlier read. */
export const notReported = (since: number): string =>
  `${NOT_REPORTED}: changes after ${new Date(since).toISOString()} may be missing`

/** Returns whether every read adds the note again while it is true. Notes about one issue are only added when that issue is read. */
const isAddedAgain = (note: string) =>
  note.endsWith(TURNED_OFF) ||
  note.startsWith(NOT_REPORTED) ||
  (note.endsWith(MISSING) && !note.startsWith('issue '))

/** Sentences for the report about what a read could not get. */
export class Notes {
  readonly #sentences: Set<string>

  /** Copies the notes of an earlier read that this read may not find again. */
  constructor(earlier: readonly string[] = []) {
    this.#sentences = new Set(earlier.filter((note) => !isAddedAgain(note)))
  }

  add(sentence: string): void {
    this.#sentences.add(sentence)
  }

  /** Adds a note about a part that is turned off. The forge still has the objects, so the stored records about them are not removed. */
  addTurnedOff(what: string): void {
    this.add(`${what}${TURNED_OFF}`)
  }

  /** Adds a note about entries, of the repository or of one issue, that the forge lists or counts but does not return. */
  addMissing(part: string, count: number, issue: number | undefined): void {
    const entries = count === 1 ? '1 entry is' : `${count} entries are`
    this.add(`${issue === undefined ? '' : `issue ${issue}: `}${part}: ${entries}${MISSING}`)
  }

  /** Removes notes about missing entries of an issue, because it is read again or was deleted. Returns whether there were any. */
  removeMissing(issue: number): boolean {
    const before = this.#sentences.size
    for (const each of this.#sentences)
      if (each.startsWith(`issue ${issue}: `) && each.endsWith(MISSING))
        this.#sentences.delete(each)
    return this.#sentences.size < before
  }

  /** For a host without a version, its adapter says what it lacks. */
  addNoTimeline(version: ForgeVersion | undefined): void {
    if (!version) return
    this.add(
      `${version.kind} ${version.text} has no timeline of issues: events other than closed, merged and locked are missing, and who closed an issue is unknown`,
    )
  }

  addNoIssueAssets(version: ForgeVersion | undefined): void {
    if (!version) return
    this.add(
      `${version.kind} ${version.text} does not list attachments of issues: only those that a text links to were read`,
    )
  }

  /** Compares with the notes of an earlier read. Ignores the note about unreported changes, which depends only on time. */
  equals(earlier: readonly string[]): boolean {
    const compared = new Set(earlier.filter((each) => !each.startsWith(NOT_REPORTED)))
    return this.#sentences.symmetricDifference(compared).size === 0
  }

  all(): string[] {
    return [...this.#sentences].sort()
  }
}
