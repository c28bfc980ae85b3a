import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { batchesOf } from '@godwit/lib/chunks'
import { mapConcurrent } from '@godwit/lib/turns'
import type { Batch, Group, StoredGroups } from '../../discussions.ts'
import { HostUnavailable } from '../../host-errors.ts'
import { repositoryPath } from '../../host-url.ts'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { pagesOf } from '../../http/pages.ts'
import {
  type Changes,
  cursorOf,
  cursorText,
  formatSince,
  isListed,
  listedIssues,
} from './find-changes.ts'
import { notReported, type ReadContext } from './read-context.ts'
import { commentsIn, findIssue, issueKey, issueVersion, readIssueGroup } from './read-issue.ts'
import { personGroup } from './read-metadata.ts'

const CONCURRENT_ISSUES = 4
/** Times of a forge have a resolution of one second. An issue that changed in this second may change again and have the same time. */
const SETTLE_MS = 2000
/** If more numbers are missing than this, another listing is cheaper than requesting each. */
const MAX_GAPS = 200
/** After this many numbers in a row without an issue, no higher number is tried. */
const MAX_ABSENT_IN_A_ROW = 5
const MAX_LISTINGS = 3
/** The field of a group's `seen` with the time when the issue was last read completely, without reusing stored reactions. */
const READ_COMPLETELY_AT = 'whole'

/** Reads one repository, from the changes that were found to the last batch. */
export class RepositoryReading {
  readonly #context: ReadContext
  readonly #stored: StoredGroups
  readonly #changes: Changes
  /** The versions of all groups that are stored, including those of earlier batches of this read. */
  readonly #versions = new Map<string, string>()
  /** Updated with `#versions`, because counting would take a pass over all of them. */
  readonly #counts = { issues: 0, comments: 0 }
  readonly #edited: Set<number>
  #read = 0
  #total: number

  constructor(context: ReadContext, stored: StoredGroups, changes: Changes) {
    this.#context = context
    this.#stored = stored
    this.#changes = changes
    this.#edited = new Set(changes.edited)
    this.#total = changes.issues ?? 0
  }

  async *batches(): AsyncGenerator<Batch> {
    const { changedMetadata, changedIssues } = this.#changes
    const stale = await this.#loadVersions()
    yield this.#batch(changedMetadata, stale)
    yield* changedIssues ? this.#readChanged(changedIssues) : this.#readAll()
    // Until now these groups were needed to find the issues again after an interruption.
    const former = this.#changes.formerLogins.filter((login) => !this.#context.people.has(login))
    const formerKeys = former.map((login) => `user/${login}`)
    yield this.#batch([], formerKeys, true)
  }

  /** Returns the keys of groups to remove: those of another repository of the same name, or in another format. */
  async #loadVersions(): Promise<string[]> {
    const cursor = cursorOf(this.#stored.cursor)
    const isSame = cursor?.repositoryId === this.#changes.repositoryId
    const stale: string[] = []
    const current = new Set(this.#changes.metadata.map(({ key }) => key))
    for await (const { key, version } of this.#stored.versions()) {
      if (isSame) this.#setVersion(key, version)
      else if (!current.has(key)) stale.push(key)
    }
    return stale
  }

  #batch(put: Group[], remove: string[] = [], isComplete = false): Batch {
    for (const { key, version } of put) this.#setVersion(key, version)
    for (const key of remove) {
      this.#setVersion(key, undefined)
      if (isIssue(key)) this.#context.notes.removeMissing(numberOf(key))
    }
    const { repositoryId, off } = this.#changes
    const { asOf, fullyReadSince } = { ...this.#changes, ...off }
    const counts = this.#counts
    const hasOlder = counts.issues > 0 && fullyReadSince < asOf
    const notes = [...this.#context.notes.all(), ...(hasOlder ? [notReported(fullyReadSince)] : [])]
    const changeToken = isComplete ? this.#changeToken() : ''
    const since = off?.since ?? (isComplete ? asOf : this.#changes.since)
    const times = { asOf, since, fullyReadSince }
    const cursor = cursorText({ repositoryId, ...times, isComplete, changeToken, notes, ...counts })
    const total = Math.max(this.#total, this.#read)
    return { put, remove, cursor, progress: { read: this.#read, total } }
  }

  #setVersion(key: string, version: string | undefined): void {
    const before = this.#versions.get(key)
    if (version === undefined) this.#versions.delete(key)
    else this.#versions.set(key, version)
    if (!isIssue(key)) return
    this.#counts.issues += Number(version !== undefined) - Number(before !== undefined)
    this.#counts.comments += commentsIn(version ?? '') - commentsIn(before ?? '')
  }

  /** Depends only on the records, not on the order in which they were read. */
  #changeToken(): string {
    const digest = createHash('sha256')
    for (const key of [...this.#versions.keys()].sort())
      digest.update(`${key}\n${this.#versions.get(key)}\n`)
    return digest.digest('hex')
  }

  async *#readChanged(issues: readonly Json[]): AsyncGenerator<Batch> {
    this.#total = issues.length
    for (const page of batchesOf(issues, this.#context.forge.paging.limit))
      yield* this.#readPage(page)
  }

  /** Lists all issues and reads those that differ from the stored ones. */
  async *#readAll(): AsyncGenerator<Batch> {
    for (let listings = 1; listings <= MAX_LISTINGS; listings++) {
      const listing = newListing()
      for await (const { entries, total, unusable } of this.#listIssues()) {
        listing.unusable += unusable
        if (total !== undefined && total < (listing.total ?? 0)) listing.hasShrunk = true
        listing.total = total
        this.#total = total ?? this.#total
        for (const issue of entries) listing.seen.add(json.integer(issue, 'number'))
        yield* this.#readPage(entries)
      }
      yield* this.#readSince(listing)
      yield* this.#readGaps(listing)
      const missing = missingIn(listing)
      const isLast = listings === MAX_LISTINGS && listing.hasTriedGaps
      if (listing.hasShrunk || (missing > 0 && !isLast)) continue
      // Three listings and requests by number did not get them, so they are reported as missing.
      if (missing > 0) this.#context.notes.addMissing('issues', missing, undefined)
      return yield* this.#removeDeleted(listing)
    }
    const message = `the issues of ${this.#context.fullName} change faster than they can be listed, or the forge does not return all of them`
    throw new HostUnavailable(Date.now() + 60_000, 'unreachable', message)
  }

  #listIssues(since?: string) {
    const { forge, signal } = this.#context
    const listing = {
      path: `${repositoryPath(this.#context)}/issues`,
      query: { ...listedIssues(this.#changes.only), ...(since && { since }) },
      ...forge.paging,
      keyOf: (issue: Json) => json.integer(issue, 'number'),
      isUsable: (issue: Json) => json.integer(issue, 'number') > 0,
    }
    return pagesOf(forge.client, listing, signal)
  }

  /** Reads issues that were changed or created since the listing began. */
  async *#readSince({ seen }: IssueListing): AsyncGenerator<Batch> {
    const since = formatSince(this.#changes.asOf - SETTLE_MS)
    for await (const { entries } of this.#listIssues(since)) {
      // A forge that ignores `since` lists all issues again.
      const fresh = entries.filter((issue) => json.time(issue, 'updated_at') >= since)
      if (fresh.length === 0) return
      for (const issue of fresh) seen.add(json.integer(issue, 'number'))
      yield* this.#readPage(fresh)
    }
  }

  /**
   * Requests issues by number that the listing did not contain. Old versions order issues of the same second randomly, so that some
   * are on no page, and any version may fail to render an entry.
   */
  async *#readGaps(listing: IssueListing): AsyncGenerator<Batch> {
    const { seen, hasShrunk } = listing
    if (hasShrunk || missingIn(listing) === 0) return
    const highest = [...seen].reduce((a, b) => Math.max(a, b), 0)
    const found: Json[] = []
    let [gaps, absent] = [highest - seen.size, 0]
    // An unusable entry may have a higher number than all others.
    const mayExist = (number: number) =>
      number <= highest || (listing.unusable > 0 && absent < MAX_ABSENT_IN_A_ROW)
    for (let number = 1; mayExist(number); number++) {
      if (seen.has(number)) continue
      if (number > highest) gaps++
      if (gaps > MAX_GAPS) return
      const issue = await findIssue(this.#context, number)
      if (issue && isListed(issue, this.#changes.only)) found.push(issue)
      absent = issue || number <= highest ? 0 : absent + 1
    }
    listing.hasTriedGaps = true
    for (const issue of found) seen.add(json.integer(issue, 'number'))
    listing.unusable = Math.max(0, listing.unusable - found.length)
    yield* this.#readPage(found)
  }

  /** Removes stored issues that were not listed, if the forge confirms that they do not exist, or their kind is turned off. */
  async *#removeDeleted({ seen }: IssueListing): AsyncGenerator<Batch> {
    const remove: string[] = []
    for (const key of [...this.#versions.keys()].filter(isIssue))
      if (!seen.has(numberOf(key))) {
        const issue = await findIssue(this.#context, numberOf(key))
        if (!issue || !isListed(issue, this.#changes.only)) remove.push(key)
      }
    if (remove.length > 0) yield this.#batch([], remove)
  }

  /** Reads the issues of a page that differ from the stored ones, with the people in them. */
  async *#readPage(page: readonly Json[]): AsyncGenerator<Batch> {
    const changed: Json[] = []
    for (const issue of page)
      if (this.#isChanged(issue) || (await this.#isOld(issue))) changed.push(issue)
    for (const issue of changed) this.#edited.delete(json.integer(issue, 'number'))
    this.#read += page.length - changed.length
    if (changed.length === 0) return
    const put: Group[] = []
    const remove: string[] = []
    const { signal } = this.#context
    await mapConcurrent(changed, { concurrency: CONCURRENT_ISSUES, signal }, async (issue) => {
      const group = await this.#readOne(issue)
      if (group) put.push(group)
      else if (this.#versions.has(issueKey(issue))) remove.push(issueKey(issue))
      this.#read++
    })
    put.sort((a, b) => numberOf(a.key) - numberOf(b.key))
    yield this.#batch([...this.#newPeople(), ...put], remove)
  }

  /** An edited comment does not change its issue. Each issue of `#edited` is read once for that. */
  #isChanged(issue: Json): boolean {
    const isEdited = this.#edited.has(json.integer(issue, 'number'))
    return isEdited || !this.#versions.get(issueKey(issue))?.startsWith(issueVersion(issue))
  }

  /** Returns whether an issue must be read again because of changes that the forge does not report. */
  async #isOld(issue: Json): Promise<boolean> {
    if (!this.#changes.mayHaveOldIssues) return false
    const stored = await this.#stored.find(issueKey(issue))
    return stored !== undefined && !this.#isRenewed(stored)
  }

  #isRenewed({ seen }: Group): boolean {
    return Number(seen?.[READ_COMPLETELY_AT] ?? 0) >= this.#changes.fullyReadSince
  }

  #newPeople(): Group[] {
    return this.#context.people
      .takeNew()
      .map(personGroup)
      .filter(({ key, version }) => this.#versions.get(key) !== version)
  }

  async #readOne(listed: Json): Promise<Group | undefined> {
    const issue = await this.#settled(listed)
    if (!issue) return undefined
    const key = issueKey(issue)
    const found = this.#versions.has(key) ? await this.#stored.find(key) : undefined
    const isRenamed = this.#changes.renamed.has(json.integer(issue, 'number'))
    const stored = found && this.#isRenewed(found) && !isRenamed ? found : undefined
    const group = await readIssueGroup(this.#context, issue, stored)
    const readCompletelyAt = stored?.seen?.[READ_COMPLETELY_AT] ?? String(this.#changes.asOf)
    return group && { ...group, seen: { ...group.seen, [READ_COMPLETELY_AT]: readCompletelyAt } }
  }

  /** Waits until the second in which the issue was changed is over, and requests it again. */
  async #settled(issue: Json): Promise<Json | undefined> {
    const { forge, signal } = this.#context
    const ageMs = forge.client.now() - Date.parse(json.string(issue, 'updated_at'))
    if (!(ageMs < SETTLE_MS) || ageMs < -SETTLE_MS) return issue
    await sleep(SETTLE_MS - ageMs, undefined, { signal })
    return findIssue(this.#context, json.integer(issue, 'number'))
  }
}

const newListing = () => ({
  /** Numbers of the issues that were listed or found otherwise. */
  seen: new Set<number>(),
  /** Whether the total went down during the listing. An issue may then have moved to a page that was already read. */
  hasShrunk: false,
  total: undefined as number | undefined,
  /** How many entries could not be used. */
  unusable: 0,
  /** Whether every number that was not seen was requested. */
  hasTriedGaps: false,
})

type IssueListing = ReturnType<typeof newListing>

/** Returns how many issues the forge counts or lists that were not seen. */
const missingIn = ({ seen, total, unusable }: IssueListing): number =>
  Math.max(unusable, (total ?? 0) - seen.size, 0)

const isIssue = (key: string) => key.startsWith('issue/')
const numberOf = (key: string) => Number(key.slice('issue/'.length))
