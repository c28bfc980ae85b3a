import { hash } from 'node:crypto'
import {
  CURSOR_FORMAT,
  type Group,
  type ReadState,
  readStateOf,
  type StoredGroups,
} from '../../discussions.ts'
import { HostRequestFailed } from '../../host-errors.ts'
import { repositoryPath } from '../../host-url.ts'
import type { ApiResponse } from '../../http/http-client.ts'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { totalOf } from '../../http/pages.ts'
import { isPull } from '../records/issue-records.ts'
import { findPeople } from './find-people.ts'
import { getPart, ifExists, listPart, type ReadContext, unlessTurnedOff } from './read-context.ts'
import { findIssue, issueKey, issueVersion } from './read-issue.ts'
import { personGroup, readMetadata } from './read-metadata.ts'

/** The state of a read, stored as JSON with every batch. */
interface ForgeCursor extends ReadState {
  format: typeof CURSOR_FORMAT
  /** The forge's id of the repository. It detects a new repository of the same name. */
  repositoryId: number
  /** Everything stored is at least as new as this: `asOf`, or when the first of several interrupted reads began. */
  since: number
  /** Every stored issue was last read in full at this time or later. The forge does not report some changes, such as reactions. */
  fullyReadSince: number
  /** How many issues are stored. */
  issues: number
  /** How many comments are stored. */
  comments: number
}

export const cursorText = (cursor: Omit<ForgeCursor, 'format'>): string =>
  JSON.stringify({ format: CURSOR_FORMAT, ...cursor })

export const cursorOf = (text: string | null): ForgeCursor | undefined =>
  readStateOf(text) as ForgeCursor | undefined

export type Changes = Awaited<ReturnType<typeof findChanges>>

/** The last read may have missed changes that were made while it began. */
const OVERLAP_MS = 5000
/** No listing reports reactions and changes of reviews. Therefore all issues are read again after this time. */
const RENEW_AFTER_MS = 7 * 24 * 60 * 60 * 1000

/** Finds the changes of a repository since the last read, with a few requests. */
export async function findChanges(context: ReadContext, stored: StoredGroups) {
  const { client } = context.forge
  const path = repositoryPath(context)
  const repository = json.objectOf((await client.get(path, {}, context.signal)).body)
  const asOf = client.now()
  const repositoryId = json.integer(repository, 'id')
  if (repositoryId <= 0)
    throw new HostRequestFailed(200, `${client.url}${path} did not return a repository`)
  const cursor = cursorOf(stored.cursor)
  const last = cursor?.repositoryId === repositoryId ? cursor : undefined
  const metadata = await readMetadata(context, repository, async (key) => last && stored.find(key))
  const isLabelOrMilestoneDeleted = await hasDeletedLabelOrMilestone(metadata, stored)
  const people = last ? await findPeople(context, stored) : undefined
  const fresh = context.people.takeNew().map(personGroup)
  const groups = [...metadata, ...(people?.current ?? []), ...fresh]
  const renamed = people?.issues ?? new Set<number>()
  const found = {
    repositoryId,
    /** The time of the forge's clock before the requests. */
    asOf,
    /** All groups except issues and the people in them. */
    metadata: groups,
    /** The groups of `metadata` that differ from the stored ones. */
    changedMetadata: await changedGroups(groups, stored),
    /** Numbers of issues that name people who were renamed or deleted. */
    renamed,
  }
  const only = listedKind(repository)
  const issues = await countIssues(context, repository, last, only)
  if (issues === 'off') {
    const nothing = { issues: 0, edited: new Set<number>(), changedIssues: [], formerLogins: [] }
    const times = { fullyReadSince: asOf, mayHaveOldIssues: false, since: asOf }
    return { ...found, ...nothing, only, ...times, off: last && timesOf(last) }
  }
  const fullyReadSince = fullyReadSinceOf(last, asOf)
  const isDue = fullyReadSince === asOf
  const known = { ...issues, only, renamed, ...(isLabelOrMilestoneDeleted && { count: null }) }
  const changes = last && !isDue ? await findChangedIssues(context, stored, last, known) : undefined
  return {
    ...found,
    /** Logins that stored people no longer have. Their groups are removed when all issues are read. */
    formerLogins: people?.former ?? [],
    /** All issues must be read in full at this time or later, because of changes that the forge does not report. */
    fullyReadSince,
    /** Whether some stored issues may have been read before `fullyReadSince`. */
    mayHaveOldIssues: isDue || !last?.isComplete,
    /** The number of issues; null if the forge does not return it. */
    issues: issues.count,
    /** The value of `ForgeCursor.since` while this read is not complete. */
    since: last && !last.isComplete ? last.since : asOf,
    /** The kind that is turned on, if the other one is turned off: old versions list both. */
    only,
    /** If issues and pull requests are turned off: how new the stored ones are. */
    off: undefined,
    /** Numbers of issues with a new or edited comment, and of issues in `renamed`. */
    edited: changes?.edited ?? renamed,
    /** Issues that changed since the last read; undefined if all issues must be listed to find them. */
    changedIssues: changes?.changedIssues,
  }
}

/** After an interrupted read, all changes must be searched for again once issues are turned on. */
const timesOf = ({ isComplete, asOf, since, fullyReadSince }: ForgeCursor) =>
  isComplete ? { asOf, since, fullyReadSince } : { asOf: since, since: 0, fullyReadSince: 0 }

/** An interrupted read is completed before all issues are read again. */
function fullyReadSinceOf(last: ForgeCursor | undefined, asOf: number): number {
  const isDue = !last || (last.isComplete && asOf - last.fullyReadSince > RENEW_AFTER_MS)
  return isDue ? asOf : last.fullyReadSince
}

type ListedKind = 'issues' | 'pulls'

/** Returns the kind that is turned on if the other one is turned off. */
function listedKind(repository: Json): ListedKind | undefined {
  const hasIssues = repository.has_issues !== false && !repository.external_tracker
  if (hasIssues) return repository.has_pull_requests === false ? 'issues' : undefined
  return repository.has_pull_requests === true ? 'pulls' : undefined
}

/** The query of a list of issues. */
export const listedIssues = (only: ListedKind | undefined) => ({
  state: 'all',
  ...(only && { type: only }),
})

/** Whether an issue or pull request is of the kind that is turned on. */
export const isListed = (issue: Json, only: ListedKind | undefined): boolean =>
  only === undefined || isPull(issue) === (only === 'pulls')

interface CountedIssues {
  /** Null if the forge does not return the number. */
  count: number | null
  /** All issues, if they are on one page. */
  all: Json[] | undefined
}

/** Returns `off` if both issues and pull requests are turned off. */
async function countIssues(
  context: ReadContext,
  repository: Json,
  last: ForgeCursor | undefined,
  only: ListedKind | undefined,
): Promise<CountedIssues | 'off'> {
  const { notes, forge } = context
  // A small repository needs no further request to find the changed issues.
  const limit = last && last.issues < forge.paging.limit ? forge.paging.limit : 1
  const query = { ...listedIssues(only), limit, page: 1 }
  const request = () => getPart(context, 'issues', query)
  const part = 'issues and pull requests'
  const response = await unlessTurnedOff(context, repository, part, request)
  if (!response) return 'off'
  const listed = entriesIn(response)
  const count = totalOf(response) ?? (listed.length === 0 ? 0 : null)
  const isAll = listed.length === count && listed.every((each) => json.integer(each, 'number') > 0)
  if (only === 'pulls') notes.addTurnedOff('issues')
  if (repository.has_pull_requests === false) notes.addTurnedOff('pull requests')
  return { count, all: isAll ? listed : undefined }
}

/** Returns a change token that differs from the change tokens of all reads and of other changes. */
export const changeTokenOfChanges = ({ changedMetadata, changedIssues, asOf }: Changes): string => {
  const groups = changedMetadata.map(({ key, version }) => [key, version])
  const issues = changedIssues?.map((issue) => [issueKey(issue), issueVersion(issue)])
  return hash('sha256', JSON.stringify([groups, issues ?? asOf]))
}

export const isUnchanged = ({ changedMetadata, changedIssues, formerLogins }: Changes): boolean =>
  changedMetadata.length === 0 && changedIssues?.length === 0 && formerLogins.length === 0

/**
 * Returns whether a label or milestone was deleted that stored issues may refer to. Deleting it does not change `updated_at` of the
 * issues.
 */
async function hasDeletedLabelOrMilestone(metadata: readonly Group[], stored: StoredGroups) {
  const names = ({ records }: Group) => [
    ...(records.repositories?.[0]?.labels.map(({ name }) => `label ${name}`) ?? []),
    ...(records.milestones?.map(({ number }) => `milestone ${number}`) ?? []),
  ]
  const now = new Set(metadata.flatMap(names))
  for (const key of ['repository', 'milestones']) {
    const before = await stored.find(key)
    if (before && names(before).some((name) => !now.has(name))) return true
  }
  return false
}

async function changedGroups(groups: readonly Group[], stored: StoredGroups): Promise<Group[]> {
  const changed: Group[] = []
  for (const group of groups)
    if ((await stored.find(group.key))?.version !== group.version) changed.push(group)
  return changed
}

/** Gitea sends null for an empty list, and for an entry that it failed to render. */
const entriesIn = ({ body }: ApiResponse): Json[] =>
  Array.isArray(body) ? body.map(json.objectOf) : []

/**
 * Finds changed issues without listing all of them. `changedIssues` is undefined if that is not possible: an issue or comment was
 * deleted, the forge does not support `since`, or it does not return the number of issues.
 */
async function findChangedIssues(
  context: ReadContext,
  stored: StoredGroups,
  last: ForgeCursor,
  {
    count,
    all,
    renamed,
    only,
  }: CountedIssues & { renamed: Set<number>; only: ListedKind | undefined },
): Promise<{ edited: Set<number>; changedIssues: Json[] | undefined }> {
  const since = formatSince(last.since - OVERLAP_MS)
  const { limit, isExact } = context.forge.paging
  const areFewComments = isExact && last.comments < limit
  const comments = await changedComments(context, stored, areFewComments ? undefined : since)
  if (!comments) context.notes.add('the forge does not report which comments were edited')
  const edited = renamed.union(comments?.numbers ?? new Set<number>())
  if (!last.isComplete || !comments || count === null) return { edited, changedIssues: undefined }
  const listed = all ?? (await listSince(context, 'issues', { ...listedIssues(only), since }))
  const issues = listed && (await changedAmong(listed, stored))
  const expected = last.comments + comments.added
  const isNothingDeleted =
    issues &&
    count === last.issues + issues.added &&
    (areFewComments ? comments.listed === expected : await hasCommentCount(context, expected))
  if (!isNothingDeleted) return { edited, changedIssues: undefined }
  const numbers = new Set(issues.changed.map((issue) => json.integer(issue, 'number')))
  for (const number of edited.difference(numbers)) {
    const known = all?.find((issue) => json.integer(issue, 'number') === number)
    const issue = known ?? (await findIssue(context, number))
    if (issue && isListed(issue, only)) issues.changed.push(issue)
  }
  return { edited, changedIssues: issues.changed }
}

/** Formats a time for the query parameter `since`. */
export const formatSince = (time: number): string =>
  new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')

async function changedAmong(listed: readonly Json[], stored: StoredGroups) {
  const changed: Json[] = []
  let added = 0
  for (const issue of listed) {
    const known = await stored.find(issueKey(issue))
    if (!known) added++
    if (!known?.version.startsWith(issueVersion(issue))) changed.push(issue)
  }
  return { changed, added }
}

/** Returns the numbers of issues with a new or edited comment. Editing a comment does not change the issue. */
async function changedComments(
  context: ReadContext,
  stored: StoredGroups,
  since: string | undefined,
) {
  const listed = await listSince(context, 'issues/comments', since ? { since } : {})
  if (!listed) return undefined
  const numbers = new Set<number>()
  let added = 0
  for (const comment of listed) {
    const number = issueNumberOf(comment)
    if (number === undefined) return undefined
    const known = await stored.find(`issue/${number}`)
    const version = known?.seen?.[`comment/${json.integer(comment, 'id')}`]
    if (version === undefined) added++
    if (version !== json.string(comment, 'updated_at')) numbers.add(number)
  }
  return { numbers, added, listed: listed.length }
}

/** Returns undefined if the endpoint is missing, does not send all entries, or ignores `since`. */
async function listSince(
  context: ReadContext,
  part: string,
  query: { state?: string; type?: string; since?: string },
): Promise<Json[] | undefined> {
  let isMissing = false
  const onMissing = () => {
    isMissing = true
  }
  const listed = await ifExists(context, () => listPart(context, part, { query, onMissing }))
  const isFiltered = listed?.every(
    (entry) =>
      !query.since || Date.parse(json.string(entry, 'updated_at')) >= Date.parse(query.since),
  )
  return isFiltered && !isMissing ? listed : undefined
}

function issueNumberOf(comment: Json): number | undefined {
  const url = json.string(comment, 'issue_url') || json.string(comment, 'pull_request_url')
  const found = /\/(?:issues|pulls)\/(\d+)$/.exec(url)
  return found ? Number(found[1]) : undefined
}

/** Returns whether the forge has exactly this many comments, so that none was deleted. */
async function hasCommentCount(context: ReadContext, expected: number): Promise<boolean> {
  const { paging } = context.forge
  // The last page must end with the last expected comment. With this page size it is not full, so it shows that there are no more.
  let limit = paging.isExact ? paging.limit : 1
  while (limit > 2 && expected % limit === 0) limit--
  const page = Math.max(1, Math.ceil(expected / limit))
  const get = (page: number) => getPart(context, 'issues/comments', { limit, page })
  const response = await get(page)
  const total = totalOf(response)
  if (total !== undefined) return total === expected
  const onLastPage = expected - (page - 1) * limit
  if (entriesIn(response).length !== onLastPage) return false
  return onLastPage < limit || entriesIn(await get(page + 1)).length === 0
}
