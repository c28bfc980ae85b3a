import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { batchesOf } from '../../../lib/batches.ts'
import { mapConcurrent } from '../../../lib/map-concurrent.ts'
import type { Batch, Group, Kept } from '../../discussions.ts'
import { WaitUntil } from '../../forge-errors.ts'
import { type Entry, pagesOf } from '../client/forge-pages.ts'
import { numberIn, textIn, timeIn } from '../client/forge-values.ts'
import { cursorOf, cursorText } from './cursor.ts'
import type { ChangesFound } from './find-changes.ts'
import { notReported, type ReadContext, repositoryPath } from './read-context.ts'
import { commentsIn, findIssue, issueKey, issueVersion, readIssueGroup } from './read-issue.ts'
import { groupOf } from './read-sides.ts'

/** How many issues are read side by side. */
const LANES = 4
/** Times of a forge are whole seconds: what changed in this one may change again and look the same. */
const SETTLED_MS = 2000
/** Beyond so many gaps in the numbers a second listing is cheaper than asking for each. */
const MAX_GAPS = 200
/** After so many numbers that no issue has, none is expected to have a higher one. */
const ABSENT_IN_A_ROW = 5
const MAX_LISTINGS = 3
/** When all of an issue was read without anything of it that was kept. */
const WHOLE = 'whole'

/** One reading of one repository, from a look at it to the last batch. */
export class RepositoryReading {
  readonly #context: ReadContext
  readonly #kept: Kept
  readonly #look: ChangesFound
  /** Of everything kept, as this reading leaves it. */
  #versions = new Map<string, string>()
  /** Those of issues, and their comments: counted as they change, for there may be many. */
  readonly #counts = { issues: 0, comments: 0 }
  readonly #edited: Set<number>
  #read = 0
  #total: number

  constructor(context: ReadContext, kept: Kept, look: ChangesFound) {
    this.#context = context
    this.#kept = kept
    this.#look = look
    this.#edited = new Set(look.edited)
    this.#total = look.issues ?? 0
  }

  async *batches(): AsyncGenerator<Batch> {
    const { changedSides, moved } = this.#look
    const stale = await this.#loadVersions()
    yield this.#batch(changedSides, stale)
    const issues = moved ? this.#readMoved(moved) : this.#readAll()
    for await (const batch of issues) yield batch
    yield this.#batch([], [], true)
  }

  /** What is kept of another repository of the same name, or by an older reader, goes; its keys are returned. */
  async #loadVersions(): Promise<string[]> {
    const cursor = cursorOf(this.#kept.cursor)
    const isSame = cursor?.repositoryId === this.#look.repositoryId
    const stale: string[] = []
    const now = new Set(this.#look.sides.map(({ key }) => key))
    for await (const { key, version } of this.#kept.versions()) {
      if (isSame) this.#setVersion(key, version)
      else if (!now.has(key)) stale.push(key)
    }
    return stale
  }

  #batch(put: Group[], remove: string[] = [], isComplete = false): Batch {
    for (const { key, version } of put) this.#setVersion(key, version)
    for (const key of remove) {
      this.#setVersion(key, undefined)
      if (isIssue(key)) this.#context.notes.forgetMissing(Number(key.slice(6)))
    }
    const { repositoryId, off } = this.#look
    const { asOf, wholeSince } = { ...this.#look, ...off }
    const counts = this.#counts
    const isOlder = counts.issues > 0 && wholeSince < asOf
    const notes = [...this.#context.notes.all(), ...(isOlder ? [notReported(wholeSince)] : [])]
    const stamp = isComplete ? this.#stamp() : ''
    const since = off?.since ?? (isComplete ? asOf : this.#look.since)
    const times = { asOf, since, wholeSince }
    const cursor = cursorText({ repositoryId, ...times, isComplete, stamp, notes, ...counts })
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

  /** The same for the same facts, in whatever order they were read. */
  #stamp(): string {
    const digest = createHash('sha256')
    for (const key of [...this.#versions.keys()].sort())
      digest.update(`${key}\n${this.#versions.get(key)}\n`)
    return digest.digest('hex')
  }

  /** Few enough to be known one by one: no listing, and all of it is newer than the look. */
  async *#readMoved(moved: readonly Entry[]): AsyncGenerator<Batch> {
    this.#total = moved.length
    for (const page of batchesOf(moved, this.#context.forge.pageSize)) yield* this.#readPage(page)
  }

  /** All issues are listed; those that are not as they were kept are read. */
  async *#readAll(): AsyncGenerator<Batch> {
    for (let listings = 1; listings <= MAX_LISTINGS; listings++) {
      const listing: IssueListing = {
        ...{ seen: new Set(), isSteady: true, total: undefined },
        ...{ unusable: 0, hasAskedForGaps: false },
      }
      for await (const { entries, total, unusable } of this.#listIssues()) {
        listing.unusable += unusable
        if (total !== undefined && total < (listing.total ?? 0)) listing.isSteady = false
        listing.total = total
        this.#total = total ?? this.#total
        for (const issue of entries) listing.seen.add(numberIn(issue, 'number'))
        yield* this.#readPage(entries)
      }
      yield* this.#readSince(listing)
      yield* this.#readMissed(listing)
      const missing = missingIn(listing)
      const isLast = listings === MAX_LISTINGS && listing.hasAskedForGaps
      if (!listing.isSteady || (missing > 0 && !isLast)) continue
      // Neither listed nor given by number, three times: they are named as missing.
      if (missing > 0) this.#context.notes.missing('issues', missing, undefined)
      return yield* this.#removeGone(listing)
    }
    throw this.#neverSteady()
  }

  async *#listIssues() {
    const { forge, signal } = this.#context
    const path = `${repositoryPath(this.#context)}/issues`
    const listing = {
      path,
      query: { state: 'all' },
      limit: forge.pageSize,
      keyOf: (issue: Entry) => numberIn(issue, 'number'),
      isUsable: (issue: Entry) => numberIn(issue, 'number') > 0,
    }
    yield* pagesOf(forge.client, listing, signal)
  }

  /** What changed while the listing was read, or came after it had begun. */
  async *#readSince({ seen }: IssueListing): AsyncGenerator<Batch> {
    const { forge, signal } = this.#context
    const since = new Date(this.#look.asOf - SETTLED_MS).toISOString().replace(/\.\d+Z$/, 'Z')
    const path = `${repositoryPath(this.#context)}/issues`
    const listing = { path, query: { state: 'all', since }, limit: forge.pageSize }
    for await (const { entries } of pagesOf(forge.client, listing, signal)) {
      // A forge that does not know `since` begins all over: the first listing has shown those.
      const fresh = entries.filter((issue) => timeIn(issue, 'updated_at') >= since)
      if (fresh.length === 0) return
      for (const issue of fresh) seen.add(numberIn(issue, 'number'))
      yield* this.#readPage(fresh)
    }
  }

  /**
   * Old versions put issues of the same second in any order, and thereby some on no page; any version may fail to put an entry
   * together. Those are asked for by number.
   */
  async *#readMissed(listing: IssueListing): AsyncGenerator<Batch> {
    const { seen, isSteady } = listing
    const missing = missingIn(listing)
    if (!isSteady || missing === 0) return
    const most = [...seen].reduce((a, b) => Math.max(a, b), 0)
    const found: Entry[] = []
    let [gaps, absent] = [most - seen.size, 0]
    // An entry that cannot be used may be of a number beyond those that were seen.
    const isNear = (number: number) =>
      number <= most || (listing.unusable > 0 && absent < ABSENT_IN_A_ROW)
    for (let number = 1; isNear(number); number++) {
      if (seen.has(number)) continue
      if (number > most) gaps++
      if (gaps > MAX_GAPS) return
      const issue = await findIssue(this.#context, number)
      if (issue) found.push(issue)
      absent = issue || number <= most ? 0 : absent + 1
    }
    listing.hasAskedForGaps = true
    for (const issue of found) seen.add(numberIn(issue, 'number'))
    listing.unusable = Math.max(0, listing.unusable - found.length)
    yield* this.#readPage(found)
  }

  /** What is kept and was not listed is asked for: it is removed only where the forge says that it is gone. */
  async *#removeGone({ seen }: IssueListing): AsyncGenerator<Batch> {
    const remove: string[] = []
    for (const key of [...this.#versions.keys()].filter(isIssue)) {
      const number = Number(key.slice(6))
      if (!seen.has(number) && (await findIssue(this.#context, number)) === undefined)
        remove.push(key)
    }
    if (remove.length > 0) yield this.#batch([], remove)
  }

  #neverSteady(): WaitUntil {
    const { owner, name } = this.#context
    const words = `the issues of ${owner}/${name} change faster than they can be listed, or are not all given`
    return new WaitUntil(Date.now() + 60_000, 'away', words)
  }

  /** Reads those of a page that are not as they were kept, with the people in them. */
  async *#readPage(page: readonly Entry[]): AsyncGenerator<Batch> {
    const changed: Entry[] = []
    for (const issue of page)
      if (this.#isChanged(issue) || (await this.#isOld(issue))) changed.push(issue)
    this.#read += page.length - changed.length
    if (changed.length === 0) return
    const put: Group[] = []
    const remove: string[] = []
    const { signal } = this.#context
    await mapConcurrent(changed, { lanes: LANES, signal }, async (issue) => {
      const group = await this.#readOne(issue)
      if (group) put.push(group)
      else if (this.#versions.has(issueKey(issue))) remove.push(issueKey(issue))
      this.#read++
    })
    put.sort((a, b) => Number(a.key.slice(6)) - Number(b.key.slice(6)))
    yield this.#batch([...this.#newPeople(), ...put], remove)
  }

  /** An edited comment leaves its issue as it was: the look has told of those, and each is read once for it. */
  #isChanged(issue: Entry): boolean {
    const isEdited = this.#edited.delete(numberIn(issue, 'number'))
    return isEdited || !this.#versions.get(issueKey(issue))?.startsWith(issueVersion(issue))
  }

  /** Whether it is to be read although the forge tells of no change. */
  async #isOld(issue: Entry): Promise<boolean> {
    const kept = this.#look.isRenewing ? await this.#kept.find(issueKey(issue)) : undefined
    return kept !== undefined && !this.#isRenewed(kept)
  }

  #isRenewed({ seen }: Group): boolean {
    return Number(seen?.[WHOLE] ?? 0) >= this.#look.wholeSince
  }

  #newPeople(): Group[] {
    return this.#context.people
      .take()
      .map((user) => groupOf(`user/${user.login}`, { users: [user] }))
      .filter(({ key, version }) => this.#versions.get(key) !== version)
  }

  async #readOne(listed: Entry): Promise<Group | undefined> {
    const issue = await this.#settled(listed)
    if (!issue) return undefined
    const found = this.#versions.has(issueKey(issue))
      ? await this.#kept.find(issueKey(issue))
      : undefined
    const kept = found && this.#isRenewed(found) ? found : undefined
    const pull = this.#look.pulls.get(numberIn(issue, 'number'))
    const isFresh = pull && textIn(pull, 'updated_at') === textIn(issue, 'updated_at')
    const group = await readIssueGroup(this.#context, issue, kept, isFresh ? pull : undefined)
    const whole = kept?.seen?.[WHOLE] ?? String(this.#look.asOf)
    return group && { ...group, seen: { ...group.seen, [WHOLE]: whole } }
  }

  /** Waits out the second in which it was changed, and looks at it again. */
  async #settled(issue: Entry): Promise<Entry | undefined> {
    const { forge, signal } = this.#context
    const age = forge.client.now() - Date.parse(textIn(issue, 'updated_at'))
    if (!(age < SETTLED_MS) || age < -SETTLED_MS) return issue
    await sleep(SETTLED_MS - age, undefined, { signal })
    return findIssue(this.#context, numberIn(issue, 'number'))
  }
}

/**
 * What a listing has shown. Pages are cut anew for every request: what is deleted meanwhile pulls an issue over to the page
 * before, where nobody looks again, and the number of all goes down.
 */
interface IssueListing {
  seen: Set<number>
  isSteady: boolean
  total: number | undefined
  /** How many entries could not be used. */
  unusable: number
  /** Whether each number that was not seen was asked for. */
  hasAskedForGaps: boolean
}

/** How many issues the forge counts or lists that were not seen. Without a count there are those that could not be used. */
const missingIn = ({ seen, total, unusable }: IssueListing): number =>
  Math.max(unusable, (total ?? 0) - seen.size, 0)

const isIssue = (key: string) => key.startsWith('issue/')
