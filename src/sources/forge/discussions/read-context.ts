import { ForgeUnavailable } from '../../forge-errors.ts'
import { undefinedIfAbsent } from '../client/confirm-absence.ts'
import { segment } from '../client/forge-address.ts'
import { type ForgeResponse, type Query, RETRY_AFTER_MS } from '../client/forge-client.ts'
import { type Listing, listAll, listUnpaged } from '../client/forge-pages.ts'
import { type JsonObject, objectOf } from '../client/forge-values.ts'
import type { ForgeVersion } from '../client/forge-version.ts'
import type { KnownForge } from '../client/known-forge.ts'
import type { People } from '../facts/people-facts.ts'

/** The repository that is being read, and what the reading collects. */
export interface ReadContext {
  forge: KnownForge
  owner: string
  name: string
  /** `owner/name` */
  fullName: string
  notes: Notes
  people: People
  signal: AbortSignal
  /** The number of the issue or pull request that is being read. */
  issueNumber?: number
}

export const repositoryPath = ({ owner, name }: { owner: string; name: string }): string =>
  `/repos/${segment(owner)}/${segment(name)}`

/** Gets a path below the repository, such as `issues/12`. */
export const getPart = (
  context: ReadContext,
  part: string,
  query: Query = {},
): Promise<ForgeResponse> =>
  context.forge.client.get(`${repositoryPath(context)}/${part}`, query, context.signal)

/** Lists a path below the repository that has pages, such as `issues`. */
export function listPart(
  context: ReadContext,
  part: string,
  options: Pick<Listing, 'query' | 'keyOf' | 'onMissing'> = {},
): Promise<JsonObject[]> {
  const { client, pageSize: limit } = context.forge
  return listAll(client, { ...listingOf(context, part), limit, ...options }, context.signal)
}

/** Lists a path below the repository that has no pages. */
export const listUnpagedPart = (
  context: ReadContext,
  part: string,
  options: Pick<Listing, 'keyOf'> = {},
): Promise<JsonObject[]> =>
  listUnpaged(context.forge.client, { ...listingOf(context, part), ...options }, context.signal)

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
 * Returns the result of `request`, or undefined and adds a note if the part is turned off. Rejects with ForgeUnavailable if the
 * forge responds with 404 although the repository lists the part as turned on.
 */
export async function unlessTurnedOff<T>(
  context: ReadContext,
  repository: JsonObject,
  part: Part,
  request: () => Promise<T>,
): Promise<T | undefined> {
  const found = await ifExists(context, request)
  if (found !== undefined) return found
  const { fullName, forge } = context
  if (isTurnedOn(repository, part))
    throw new ForgeUnavailable(
      forge.client.now() + RETRY_AFTER_MS,
      'unreachable',
      `the forge says that ${part} of ${fullName} are turned on, but does not return them`,
    )
  context.notes.addTurnedOff(part)
  return undefined
}

/** Old versions lack some of these fields. Gitea serves labels and milestones if it serves issues or pull requests. */
function isTurnedOn(repository: JsonObject, part: Part): boolean {
  if (part === 'releases') return repository.has_releases === true
  const hasIssues = repository.has_issues === true && !repository.external_tracker
  // Mirrors and empty repositories have no pull requests, even if they are turned on.
  const mayHavePulls = repository.mirror !== true && repository.empty !== true
  return hasIssues || (repository.has_pull_requests === true && mayHavePulls)
}

/** Returns undefined if the owner is a person. Only organizations have their own labels, members and teams. */
export async function findOrganization(
  { client, notOrganizations }: KnownForge,
  login: string,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  if (notOrganizations.has(login)) return undefined
  const request = () => client.get(`/orgs/${segment(login)}`, {}, signal)
  const found = await undefinedIfAbsent(client, request, signal)
  if (!found) notOrganizations.add(login)
  return found && objectOf(found.body)
}

// Notes are stored with the cursor and recognized by these words. If the words change, stored notes are never removed.
const TURNED_OFF = ' are turned off on the forge'
const MISSING = ' missing: the forge lists or counts them but does not return them'
const NOT_REPORTED =
  'the forge does not report new reactions, edited inline comments and resolved threads'

/** Returns the note for facts that were stored by an earlier reading. */
export const notReported = (since: number): string =>
  `${NOT_REPORTED}: changes after ${new Date(since).toISOString()} may be missing`

/** Notes about missing entries of one issue stay until that issue is read again. */
const isMissingInRepository = (note: string) => note.endsWith(MISSING) && !note.startsWith('issue ')

/** Sentences for the report about what a reading could not get. */
export class Notes {
  readonly #sentences = new Set<string>()

  /** Copies the notes of an earlier reading, except those that every reading adds again while they are true. */
  constructor(earlier: readonly string[] = []) {
    for (const each of earlier)
      if (
        !each.endsWith(TURNED_OFF) &&
        !each.startsWith(NOT_REPORTED) &&
        !isMissingInRepository(each)
      )
        this.#sentences.add(each)
  }

  add(sentence: string): void {
    this.#sentences.add(sentence)
  }

  /** Adds a note about a part that is turned off. The forge still has the objects, so the stored facts about them are not removed. */
  addTurnedOff(what: string): void {
    this.add(`${what}${TURNED_OFF}`)
  }

  /** Adds a note about entries, of the repository or of one issue, that the forge lists or counts but does not return. */
  addMissing(part: string, count: number, issue: number | undefined): void {
    const entries = count === 1 ? '1 entry is' : `${count} entries are`
    this.add(`${issue === undefined ? '' : `issue ${issue}: `}${part}: ${entries}${MISSING}`)
  }

  /** Removes notes about missing entries of an issue, because it is read again or was deleted. */
  removeMissing(issue: number): void {
    for (const each of this.#sentences)
      if (each.startsWith(`issue ${issue}: `) && each.endsWith(MISSING))
        this.#sentences.delete(each)
  }

  addNoTimeline({ kind, text }: ForgeVersion): void {
    this.add(
      `${kind} ${text} has no timeline of issues: events other than closed, merged and locked are missing, and who closed an issue is unknown`,
    )
  }

  addNoIssueAssets({ kind, text }: ForgeVersion): void {
    this.add(
      `${kind} ${text} does not list attachments of issues: only those that a text links to were read`,
    )
  }

  /** Compares with the notes of an earlier reading. Ignores the note about unreported changes, which depends only on time. */
  equals(earlier: readonly string[]): boolean {
    const compared = new Set(earlier.filter((each) => !each.startsWith(NOT_REPORTED)))
    return this.#sentences.symmetricDifference(compared).size === 0
  }

  all(): string[] {
    return [...this.#sentences].sort()
  }
}
