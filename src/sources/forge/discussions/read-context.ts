import { WaitUntil } from '../../forge-errors.ts'
import { unlessAbsent } from '../client/confirm-absence.ts'
import { segment } from '../client/forge-address.ts'
import type { ForgeAnswer, Query } from '../client/forge-client.ts'
import { type Entry, type Listing, listAll, listWhole } from '../client/forge-pages.ts'
import type { ForgeVersion } from '../client/forge-version.ts'
import type { KnownForge } from '../client/known-forge.ts'
import { UNAVAILABLE_MS } from '../client/refusal.ts'
import type { People } from '../facts/people-facts.ts'

/** What every part of a reading needs to know. */
export interface ReadContext {
  forge: KnownForge
  owner: string
  name: string
  notes: Notes
  people: People
  signal: AbortSignal
  /** The number of the issue or pull request that is being read. */
  issue?: number
}

export const repositoryPath = ({ owner, name }: { owner: string; name: string }): string =>
  `/repos/${segment(owner)}/${segment(name)}`

/** Asks for one part of the repository, such as `issues/12`. */
export const getPart = (
  context: ReadContext,
  part: string,
  query: Query = {},
): Promise<ForgeAnswer> =>
  context.forge.client.get(`${repositoryPath(context)}/${part}`, query, context.signal)

/** The same of a listing in pages, such as `issues`. */
export function listPart(
  context: ReadContext,
  part: string,
  more: Pick<Listing, 'query' | 'keyOf' | 'onMissing'> = {},
): Promise<Entry[]> {
  const { client, pageSize: limit } = context.forge
  return listAll(client, { ...listingOf(context, part), limit, ...more }, context.signal)
}

/** The same of one that comes in one answer. */
export const listWholePart = (
  context: ReadContext,
  part: string,
  keyOf?: Listing['keyOf'],
): Promise<Entry[]> =>
  listWhole(
    context.forge.client,
    { ...listingOf(context, part), ...(keyOf && { keyOf }) },
    context.signal,
  )

/** Entries that the forge does not give are noted. */
export const listingOf = (context: ReadContext, part: string): Omit<Listing, 'limit'> => ({
  path: `${repositoryPath(context)}/${part}`,
  onMissing: (count) => context.notes.missing(part, count, context.issue),
})

/** Asks for a part of the repository as `ask` does. Returns undefined if the forge itself says that it is not there. */
export const ifExists = <T>({ forge, signal }: ReadContext, ask: () => Promise<T>) =>
  unlessAbsent(forge.client, ask, signal)

/** What of a repository can be turned off. The forge then answers 404 for it. */
type Part = 'issues and pull requests' | 'labels' | 'milestones' | 'releases'

/**
 * Asks for a part of the repository as `ask` does. Returns undefined, and notes it, if the part is turned off. A 404 for a part
 * that is turned on, as the repository itself says, rejects with WaitUntil.
 */
export async function unlessTurnedOff<T>(
  context: ReadContext,
  repository: Entry,
  part: Part,
  ask: () => Promise<T>,
): Promise<T | undefined> {
  const found = await ifExists(context, ask)
  if (found !== undefined) return found
  const { owner, name, forge } = context
  if (isTurnedOn(repository, part))
    throw new WaitUntil(
      forge.client.now() + UNAVAILABLE_MS,
      'away',
      `the forge says that ${part} of ${owner}/${name} are turned on, and does not give them`,
    )
  context.notes.turnedOff(part)
  return undefined
}

/** A field that is missing, as in old versions, says neither. Gitea gives labels and milestones if it gives issues or pull requests. */
function isTurnedOn(repository: Entry, part: Part): boolean {
  if (part === 'releases') return repository.has_releases === true
  const hasIssues = repository.has_issues === true && !repository.external_tracker
  // Mirrors and empty repositories have no pull requests, whatever their settings say.
  const mayHavePulls = repository.mirror !== true && repository.empty !== true
  return hasIssues || (repository.has_pull_requests === true && mayHavePulls)
}

/** Whether the owner of the repository is an organization: only those have labels of their own, members and teams. */
export async function findOrganization(
  { client, persons }: KnownForge,
  login: string,
  signal: AbortSignal,
): Promise<Entry | undefined> {
  if (persons.has(login)) return undefined
  const ask = () => client.get(`/orgs/${segment(login)}`, {}, signal)
  const found = await unlessAbsent(client, ask, signal)
  if (!found) persons.add(login)
  return found && ((found.body ?? {}) as Entry)
}

const TURNED_OFF = ' are turned off on the forge'
const MISSING = ' missing: the forge lists or counts them and does not give them'
const UNTOLD =
  'the forge does not tell of reactions, edits of comments on lines and resolved threads'

/** Of a reading that took over what an earlier one had read. */
export const notReported = (since: number): string =>
  `${UNTOLD}: changes after ${new Date(since).toISOString()} may be missing`

/** What is missing of an issue holds until the issue is read again. */
const isMissingInLook = (note: string) => note.endsWith(MISSING) && !note.startsWith('issue ')

/** What a reading could not give, for the report: each once. */
export class Notes {
  readonly #sentences = new Set<string>()

  /** Of an earlier reading all is taken over but what every look says anew, as long as it is so. */
  constructor(earlier: readonly string[] = []) {
    for (const each of earlier)
      if (!each.endsWith(TURNED_OFF) && !each.startsWith(UNTOLD) && !isMissingInLook(each))
        this.#sentences.add(each)
  }

  say(sentence: string): void {
    this.#sentences.add(sentence)
  }

  /** Things that an archive has no word for, or that are not for others to see. */
  skipped(what: string): void {
    this.say(`skipped: ${what}`)
  }

  /** They are still in the forge's database; what was kept of them stays. */
  turnedOff(what: string): void {
    this.say(`${what}${TURNED_OFF}`)
  }

  /** Entries of a part of the repository, or of one issue, that the forge lists or counts and does not give. */
  missing(part: string, count: number, issue: number | undefined): void {
    const entries = count === 1 ? '1 entry is' : `${count} entries are`
    this.say(`${issue === undefined ? '' : `issue ${issue}: `}${part}: ${entries}${MISSING}`)
  }

  /** Forgets what was missing of an issue: it is read anew, or gone. */
  forgetMissing(issue: number): void {
    for (const each of this.#sentences)
      if (each.startsWith(`issue ${issue}: `) && each.endsWith(MISSING))
        this.#sentences.delete(each)
  }

  noTimeline({ kind, text }: ForgeVersion): void {
    this.say(
      `${kind} ${text} has no timeline of issues: events other than closed, merged and locked are missing, and who closed is unknown`,
    )
  }

  noIssueAssets({ kind, text }: ForgeVersion): void {
    this.say(
      `${kind} ${text} does not list attachments of issues: those that a text links to were read`,
    )
  }

  /** Whether a reading has said the same. How old it is it says by itself. */
  areAs(earlier: readonly string[]): boolean {
    const said = new Set(earlier.filter((each) => !each.startsWith(UNTOLD)))
    return this.#sentences.symmetricDifference(said).size === 0
  }

  all(): string[] {
    return [...this.#sentences].sort()
  }
}
