import { type Account, keyOf } from '../accounts/account.ts'
import { ensureAccount, knownSpellings } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import type {
  FoundRepository,
  RefusedEntry,
  RepositoryName,
  Source,
  StatedMembers,
} from '../sources/source.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { factsOfUnreadable } from './facts.ts'
import { deleteOtherMembers, storeListedMembers } from './listed-members.ts'
import {
  type CatalogueEntry,
  type CatalogueUpdate,
  keyOfEntry,
  keyOfName,
  listCatalogue,
  markMissing,
  putRepository,
} from './repository-store.ts'

export interface SyncParts {
  db: Db
  source: Source
  now: () => number
  /** Ends a refresh of some repositories before anything that it read is written. */
  signal?: AbortSignal | undefined
}

export interface SyncReport {
  found: number
  /** How many had changed and were read. */
  read: number
  missing: number
  broken: { fullName: string; reason: string }[]
  refused: RefusedEntry[]
  /** What is wrong in the files of members. */
  warnings: RefusedEntry[]
}

/** Git is waited for, not computed by us: a few at a time keep both cores busy. */
const READ_AT_ONCE = 4
const WRITTEN_AT_ONCE = 100

/**
 * Brings the catalogue in line with the source. A repository whose stamp has not moved is not read again; one that
 * cannot be read keeps its last known facts beside the reason, and never stops the rest.
 */
export async function syncCatalogue(parts: SyncParts): Promise<SyncReport> {
  let catalogue: Promise<Map<string, CatalogueEntry>> | undefined
  /** Read when the source has begun to list: by then a forge has told which owners were renamed. */
  const readCatalogue = () => {
    catalogue ??= listCatalogue(parts.db).then(
      (entries) => new Map(entries.map((entry) => [keyOfEntry(entry), entry])),
    )
    return catalogue
  }
  const report: SyncReport = {
    found: 0,
    read: 0,
    missing: 0,
    broken: [],
    refused: [],
    warnings: [],
  }
  const writer = catalogueWriter(parts)
  const stated: StatedMembers[] = []

  async function readAgain(found: FoundRepository, entry?: CatalogueEntry): Promise<string | null> {
    report.read++
    const learnt = await learn(parts, found, entry)
    await writer.put(found.owner, learnt)
    return learnt.problem
  }

  const spellingOf = await knownSpellings(parts.db)
  await mapConcurrent(parts.source.list(spellingOf), { lanes: READ_AT_ONCE }, async (row) => {
    if ('refused' in row) {
      report.refused.push(row.refused)
      return
    }
    if ('members' in row) {
      stated.push(row.members)
      return
    }
    const { found } = row
    const key = keyOfName(found)
    const known = await readCatalogue()
    const entry = known.get(key)
    known.delete(key)
    report.found++
    const problem = isUnchanged(found, entry) ? entry.problem : await readAgain(found, entry)
    if (problem) report.broken.push({ fullName: `${found.owner}/${found.name}`, reason: problem })
  })
  await writer.flush()
  await syncMembers(parts, stated, report)
  await markGone(parts, await readCatalogue(), report)
  return report
}

/** What was known and not listed is gone, or hidden; unless it may stand behind what could not be looked at. */
async function markGone(
  { db, now }: SyncParts,
  known: ReadonlyMap<string, CatalogueEntry>,
  report: SyncReport,
): Promise<void> {
  const hidden = new Map(
    report.refused.flatMap(({ hides, reason, isWithdrawn }) =>
      isWithdrawn && hides && 'fullName' in hides ? [[keyOf(hides.fullName), reason] as const] : [],
    ),
  )
  for (const [key, gone] of known) {
    if (report.refused.some((refused) => isBehind(gone, refused))) continue
    await markMissing(db, gone.id, now(), hidden.get(key))
    report.missing++
  }
}

/** An owner whose directory cannot be read keeps the members that were stated before. */
async function syncMembers(
  { db, now }: SyncParts,
  stated: readonly StatedMembers[],
  report: SyncReport,
): Promise<void> {
  for (const each of stated)
    for (const warning of await storeListedMembers(db, each, now())) report.warnings.push(warning)
  const kept = new Set([
    ...stated.map(({ owner }) => keyOf(owner)),
    ...report.refused.filter(({ twinOf }) => !twinOf).map(({ path }) => keyOf(path)),
  ])
  await deleteOtherMembers(db, (organization) => kept.has(keyOf(organization)))
}

/** What stands behind a refused entry is unknown, not gone. A twin is somebody else's, and what is withdrawn nobody's. */
function isBehind(entry: CatalogueEntry, refused: RefusedEntry): boolean {
  const { twinOf, hides, isWithdrawn } = refused
  if (twinOf !== undefined || isWithdrawn) return false
  if (hides && 'beginning' in hides) return keyOfEntry(entry).startsWith(keyOf(hides.beginning))
  if (hides) return keyOf(hides.fullName) === keyOfEntry(entry)
  const path = keyOf(refused.path.replace(/\.git$/, ''))
  return path === keyOf(entry.owner.login) || path === keyOfEntry(entry)
}

/**
 * The same for a few repositories, by name; what the source does not have is marked missing. `known` is what the catalogue has
 * of them. Tells whether anything was written.
 */
export async function refreshRepositories(
  parts: SyncParts,
  names: readonly RepositoryName[],
  known: ReadonlyMap<string, CatalogueEntry>,
): Promise<boolean> {
  const spellingOf = await spellingsOf(parts, names, known)
  const writer = catalogueWriter(parts)
  const learnt: { owner: string; learnt: Learnt }[] = []
  let isChanged = false
  const lanes = { lanes: READ_AT_ONCE, signal: parts.signal }
  await mapConcurrent(names.entries(), lanes, async ([at, name], stop) => {
    const entry = known.get(keyOfName(name))
    const found = await parts.source.find(spellingOf(name.owner) ?? name.owner, name.name)
    if (found && !isUnchanged(found, entry)) {
      isChanged = true
      learnt[at] = { owner: found.owner, learnt: await learn(parts, found, entry, stop) }
    } else if (!found && entry) {
      isChanged = true
      const hidden = await parts.source.whyHidden?.(name)
      await markMissing(parts.db, entry.id, parts.now(), hidden)
    }
  })
  // In the order of the names, not of who was read first: new ones get the same ids each time.
  for (const each of Object.values(learnt)) await writer.put(each.owner, each.learnt)
  await writer.flush()
  return isChanged
}

/** How the logins of the owners are spelled; most are known with their repositories. */
async function spellingsOf(
  { db }: SyncParts,
  names: readonly RepositoryName[],
  known: ReadonlyMap<string, CatalogueEntry>,
): Promise<(login: string) => string | undefined> {
  const logins = [...known.values()].map(({ owner }) => owner.login)
  const spellings = new Map(logins.map((login) => [keyOf(login), login]))
  const others = names.filter(({ owner }) => !spellings.has(keyOf(owner)))
  const spellingOfOther = await knownSpellings(
    db,
    others.map(({ owner }) => owner),
  )
  return (login) => spellings.get(keyOf(login)) ?? spellingOfOther(login)
}

function isUnchanged(found: FoundRepository, entry?: CatalogueEntry): entry is CatalogueEntry {
  return (
    entry !== undefined &&
    entry.stamp === found.stamp &&
    entry.name === found.name &&
    entry.owner.login === found.owner
  )
}

type Learnt = Omit<CatalogueUpdate, 'ownerId'>

async function learn(
  { source, now }: SyncParts,
  found: FoundRepository,
  entry?: CatalogueEntry,
  signal?: AbortSignal,
): Promise<Learnt> {
  const { name, stamp } = found
  // Facts that stand in for an unreadable repository are no knowledge to build on.
  const known = entry && entry.problem === null ? entry.facts : undefined
  try {
    return { name, stamp, facts: await source.facts(found, known, signal), problem: null }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { name, stamp, facts: entry?.facts ?? factsOfUnreadable(now()), problem: error.message }
  }
}

const keyOfLearnt = ({ owner, learnt }: { owner: string; learnt: Learnt }): string =>
  keyOfName({ owner, name: learnt.name })

function isOrganization(owner: string, batch: { owner: string; learnt: Learnt }[]): boolean {
  return batch.some((each) => each.owner === owner && each.learnt.facts.ownerIsOrganization)
}

/** Of the repositories that could be read; undefined where there are none. */
function oldestOf(owner: string, batch: { owner: string; learnt: Learnt }[]): number | undefined {
  const times = batch
    .filter((each) => each.owner === owner && each.learnt.problem === null)
    .map(({ learnt }) => learnt.facts.createdAt)
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Gathers rows and commits them together: a transaction a repository would cost a disk flush each. */
function catalogueWriter({ db, now }: SyncParts) {
  const owners = new Map<string, Account>()
  let waiting: { owner: string; learnt: Learnt }[] = []

  async function flush(): Promise<void> {
    // By name, not by who was read first: ids are then given out in the same order everywhere.
    const batch = waiting.toSorted((a, b) => (keyOfLearnt(a) < keyOfLearnt(b) ? -1 : 1))
    waiting = []
    if (batch.length === 0) return
    await db.transaction().execute(async (tx) => {
      for (const { owner, learnt } of batch) {
        const known = owners.get(owner)
        const oldest = oldestOf(owner, batch)
        if (!known || (oldest !== undefined && oldest < known.createdAt)) {
          const type = isOrganization(owner, batch) ? 'Organization' : 'User'
          owners.set(owner, await ensureAccount(tx, owner, oldest ?? now(), type))
        }
        await putRepository(tx, { ownerId: owners.get(owner)!.id, ...learnt }, now())
      }
    })
  }

  return {
    async put(owner: string, learnt: Learnt): Promise<void> {
      waiting.push({ owner, learnt })
      if (waiting.length >= WRITTEN_AT_ONCE) await flush()
    },
    flush,
  }
}
