import { createHash } from 'node:crypto'
import type { Group, Kept } from '../../discussions.ts'
import { ForgeNotFound, ForgeRefused } from '../../forge-errors.ts'
import { type Entry, totalOf } from '../client/forge-pages.ts'
import { numberIn, textIn } from '../client/forge-values.ts'
import { cursorOf, type ForgeCursor } from './cursor.ts'
import {
  getPart,
  ifExists,
  listPart,
  type ReadContext,
  repositoryPath,
  unlessTurnedOff,
} from './read-context.ts'
import { findIssue, issueKey, issueVersion } from './read-issue.ts'
import { groupOf, readSides } from './read-sides.ts'

/** What a few requests tell of a repository. */
export interface ChangesFound {
  repositoryId: number
  /** By the forge's clock, before anything was asked. */
  asOf: number
  /** All there is beside issues, and the people met there. */
  sides: Group[]
  /** Those among them that are not as they were kept. */
  changedSides: Group[]
  /** Null where the forge does not say. */
  issues: number | null
  /** Edits of comments were looked for from here on. */
  since: number
  /** From here on all issues are to have been read anew, with what the forge does not tell of. */
  wholeSince: number
  /** Whether some of those that are kept may not have been. */
  isRenewing: boolean
  /** Where issues and pull requests are turned off: how new those are that were kept. */
  off: Pick<ForgeCursor, 'asOf' | 'since' | 'wholeSince'> | undefined
  /** Numbers of issues with a comment that is new or was edited. */
  edited: Set<number>
  /** Issues that changed since the last reading; undefined where only a listing of all can tell. */
  moved: Entry[] | undefined
  /** Pull requests that changed lately, by number. */
  pulls: Map<number, Entry>
}

/** Changes that were made at the very time of the last look may have been missed by it. */
const OVERLAP_MS = 5000
/** No listing tells of reactions, and of what becomes of reviews and their comments. After this time all is read again. */
const RENEWED_MS = 7 * 24 * 60 * 60 * 1000

export async function detectChanges(context: ReadContext, kept: Kept): Promise<ChangesFound> {
  const { client } = context.forge
  const { body } = await client.get(repositoryPath(context), {}, context.signal)
  const repository = (body ?? {}) as Entry
  const asOf = client.now()
  const repositoryId = numberIn(repository, 'id')
  if (repositoryId <= 0)
    throw new ForgeRefused(
      200,
      `${client.url}${repositoryPath(context)} is something else than a repository`,
    )
  const cursor = cursorOf(kept.cursor)
  const last = cursor?.repositoryId === repositoryId ? cursor : undefined
  const sides = await readSides(context, repository, async (key) => last && kept.find(key))
  const isRenamed = await lacksNames(sides, kept)
  for (const user of context.people.take())
    sides.push(groupOf(`user/${user.login}`, { users: [user] }))
  const look = { repositoryId, asOf, sides, changedSides: await changed(sides, kept) }
  const issues = await issuesIn(context, repository)
  if (issues === 'off')
    return { ...look, ...NO_ISSUES, since: asOf, wholeSince: asOf, off: last && keptOf(last) }
  const wholeSince = wholeSinceOf(last, asOf)
  const isDue = wholeSince === asOf
  const changes =
    last && !isDue ? await findChanges(context, kept, last, isRenamed ? null : issues) : undefined
  return {
    ...look,
    wholeSince,
    isRenewing: isDue || !last?.isComplete,
    issues,
    since: last && !last.isComplete ? last.since : asOf,
    off: undefined,
    edited: changes?.edited ?? new Set(),
    moved: changes?.moved,
    pulls: await recentPulls(context, changes?.moved),
  }
}

const NO_ISSUES = {
  ...{ issues: 0, edited: new Set<number>(), moved: [], pulls: new Map() },
  isRenewing: false,
}

/** What an interrupted reading has not come to is to be looked for from the beginning, once it can be. */
const keptOf = ({ isComplete, asOf, since, wholeSince = 0 }: ForgeCursor) =>
  isComplete ? { asOf, since, wholeSince } : { asOf: since, since: 0, wholeSince: 0 }

/** An interrupted reading is brought to its end first. */
function wholeSinceOf(last: ForgeCursor | undefined, asOf: number): number {
  if (last?.wholeSince === undefined) return asOf
  const isDue = last.isComplete && asOf - last.wholeSince > RENEWED_MS
  return isDue ? asOf : last.wholeSince
}

/** How many there are, null where the forge does not say. Without either kind of them the forge has no such address. */
async function issuesIn(context: ReadContext, repository: Entry): Promise<number | null | 'off'> {
  const { notes } = context
  const part = 'issues and pull requests'
  const count = await unlessTurnedOff(context, repository, part, () =>
    countOf(context, 'issues', { state: 'all' }),
  )
  if (count === undefined) return 'off'
  // One kind of them is left out of the listing without a word.
  if (repository.has_issues === false) notes.turnedOff('issues')
  if (repository.has_pull_requests === false) notes.turnedOff('pull requests')
  return count
}

/** Different from the stamp of a reading, and from that of any other state. */
export const stampOfChanges = ({ changedSides, moved, asOf }: ChangesFound): string =>
  createHash('sha256')
    .update(JSON.stringify([changedSides.map(({ key, version }) => [key, version])]))
    .update(JSON.stringify(moved?.map((issue) => [issueKey(issue), issueVersion(issue)]) ?? asOf))
    .digest('hex')

export const isUnchanged = ({ changedSides, moved }: ChangesFound): boolean =>
  changedSides.length === 0 && moved?.length === 0

/** Whether a label or a milestone is gone that issues may still have been kept with: their own time does not tell. */
async function lacksNames(sides: readonly Group[], kept: Kept): Promise<boolean> {
  const names = ({ facts }: Group) => [
    ...(facts.repositories?.[0]?.labels.map(({ name }) => `label ${name}`) ?? []),
    ...(facts.milestones?.map(({ number }) => `milestone ${number}`) ?? []),
  ]
  const now = new Set(sides.flatMap(names))
  for (const key of ['repository', 'milestones']) {
    const before = await kept.find(key)
    if (before && names(before).some((name) => !now.has(name))) return true
  }
  return false
}

async function changed(sides: readonly Group[], kept: Kept): Promise<Group[]> {
  const found: Group[] = []
  for (const group of sides)
    if ((await kept.find(group.key))?.version !== group.version) found.push(group)
  return found
}

/** Null where the forge does not say. */
async function countOf(
  context: ReadContext,
  part: string,
  query: Record<string, string>,
): Promise<number | null> {
  const answer = await getPart(context, part, { ...query, limit: 1, page: 1 })
  const isEmpty = answer.body === null || (Array.isArray(answer.body) && answer.body.length === 0)
  return totalOf(answer) ?? (isEmpty ? 0 : null)
}

/**
 * `moved` is undefined where only a listing of all issues can tell: something is gone, or the forge cannot be asked so, or how many
 * there are is not known.
 */
async function findChanges(
  context: ReadContext,
  kept: Kept,
  last: ForgeCursor,
  issueCount: number | null,
): Promise<{ edited: Set<number>; moved: Entry[] | undefined }> {
  const since = new Date(last.since - OVERLAP_MS).toISOString().replace(/\.\d+Z$/, 'Z')
  const comments = await movedComments(context, kept, since)
  if (!comments) context.notes.say('the forge does not tell which comments were edited')
  const edited = comments?.numbers ?? new Set<number>()
  if (!last.isComplete || !comments || issueCount === null) return { edited, moved: undefined }
  const issues = await movedIssues(context, kept, since)
  const isNoneGone =
    issues &&
    issueCount === last.issues + issues.added &&
    (await hasComments(context, last.comments + comments.added))
  return { edited, moved: isNoneGone ? await mergeMoved(context, issues.moved, edited) : undefined }
}

async function movedIssues(context: ReadContext, kept: Kept, since: string) {
  const listed = await listSince(context, 'issues', { state: 'all', since })
  if (!listed) return undefined
  const moved: Entry[] = []
  let added = 0
  for (const issue of listed) {
    const known = await kept.find(issueKey(issue))
    if (!known) added++
    if (!known?.version.startsWith(issueVersion(issue))) moved.push(issue)
  }
  return { moved, added }
}

/** The numbers of issues with a comment that is new or was edited: an edit does not change the issue itself. */
async function movedComments(context: ReadContext, kept: Kept, since: string) {
  const listed = await listSince(context, 'issues/comments', { since })
  if (!listed) return undefined
  const numbers = new Set<number>()
  let added = 0
  for (const comment of listed) {
    const number = issueNumberOf(comment)
    if (number === undefined) return undefined
    const known = await kept.find(`issue/${number}`)
    const version = known?.seen?.[`comment/${numberIn(comment, 'id')}`]
    if (version === undefined) added++
    if (version !== textIn(comment, 'updated_at')) numbers.add(number)
  }
  return { numbers, added }
}

/** Undefined where the forge cannot be asked, does not give all, or gives what is older too: it does not know `since` here. */
async function listSince(
  context: ReadContext,
  part: string,
  query: { state?: string; since: string },
): Promise<Entry[] | undefined> {
  let isMissing = false
  const onMissing = () => {
    isMissing = true
  }
  const listed = await ifExists(context, () => listPart(context, part, { query, onMissing }))
  const isTold = listed?.every(
    (entry) => Date.parse(textIn(entry, 'updated_at')) >= Date.parse(query.since),
  )
  return isTold && !isMissing ? listed : undefined
}

function issueNumberOf(comment: Entry): number | undefined {
  const address = textIn(comment, 'issue_url') || textIn(comment, 'pull_request_url')
  const found = /\/(?:issues|pulls)\/(\d+)$/.exec(address)
  return found ? Number(found[1]) : undefined
}

/** Whether there are as many comments as there should be, so that none is gone. */
async function hasComments(context: ReadContext, expected: number): Promise<boolean> {
  const count = await countOf(context, 'issues/comments', {})
  if (count !== null) return count === expected
  // Where the forge does not count, there is a last one and none after it.
  const isThere = async (page: number) => {
    const { body } = await getPart(context, 'issues/comments', { limit: 1, page })
    return Array.isArray(body) && body.length > 0
  }
  return expected > 0 && (await isThere(expected)) && !(await isThere(expected + 1))
}

async function mergeMoved(
  context: ReadContext,
  issues: Entry[],
  numbers: Set<number>,
): Promise<Entry[]> {
  const listed = new Set(issues.map((issue) => numberIn(issue, 'number')))
  for (const number of [...numbers].filter((each) => !listed.has(each))) {
    const issue = await findIssue(context, number)
    if (issue) issues.push(issue)
  }
  return issues
}

/** One request for all that moved, where they are few. */
async function recentPulls(
  context: ReadContext,
  moved: readonly Entry[] | undefined,
): Promise<Map<number, Entry>> {
  if (!moved) return new Map()
  const limit = context.forge.pageSize
  const query = { state: 'all', sort: 'recentupdate', limit, page: 1 }
  // Each is asked for by its number where this does not tell: any 404 may be believed.
  const body = await getPart(context, 'pulls', query).then(
    (answer) => answer.body,
    (error: unknown) => {
      if (!(error instanceof ForgeNotFound)) throw error
    },
  )
  const pulls = Array.isArray(body)
    ? (body as (Entry | null)[]).filter((each) => each !== null)
    : []
  return new Map(pulls.map((pull) => [numberIn(pull, 'number'), pull]))
}
