import { type Account, nameKey } from '../accounts/account.ts'
import { ensureAccount, ensureOrganization, readLoginSpellings } from '../accounts/account-store.ts'
import { type Actor, type AuditParts, audited, THE_SERVICE } from '../accounts/audit-log.ts'
import {
  organizationsWithMembers,
  recordMembershipChanges,
  removeMemberships,
  replaceMemberships,
} from '../accounts/membership-store.ts'
import type { Db } from '../db/database.ts'
import { batchesOf } from '../lib/chunks.ts'
import { isName } from '../lib/names.ts'
import { mapConcurrent } from '../lib/turns.ts'
import type {
  ConfiguredMembers,
  FoundRepository,
  RefusedEntry,
  RepositoryName,
  Source,
} from '../sources/source.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { factsOfUnreadable } from './facts.ts'
import {
  type CatalogueEntry,
  type CatalogueUpdate,
  findById,
  findByNameAsMap,
  type KnownRepository,
  keyOfName,
  listKnown,
  markMissing,
  putRepository,
} from './repository-store.ts'

export interface SyncParts {
  db: Db
  source: Source
  now: () => number
  /** Aborts before the next write. */
  signal?: AbortSignal | undefined
  /** Who causes the sync, for the audit log. By default the service. */
  actor?: Actor | undefined
  /** Gets the entries of the audit log. */
  log?: AuditParts['log']
  /** Called in each transaction of a sync. Throws if another process has taken over, so that older data does not replace newer. */
  proveLease?: ((tx: Db) => Promise<void>) | undefined
}

export interface SyncReport {
  found: number
  /** The number of new or changed repositories, which were read. */
  read: number
  missing: number
  broken: { fullName: string; reason: string }[]
  refused: RefusedEntry[]
  /** Problems in members files. */
  warnings: RefusedEntry[]
}

/** Reading a repository waits for git, so several are read at a time to keep the cores busy. */
const READ_CONCURRENCY = 4
const WRITE_BATCH_SIZE = 100

/**
 * Updates the catalogue from the source. A repository with an unchanged stamp is not read again. A repository that cannot be
 * read keeps its last facts, with the reason, and does not stop the sync. An entry that `refreshRepositories` changes meanwhile is
 * kept: what the sync has listed may be older.
 */
export async function syncCatalogue(parts: SyncParts): Promise<SyncReport> {
  let catalogue: Promise<Map<string, KnownRepository>> | undefined
  /** Called after the source has started to list: a forge has renamed the accounts by then. */
  const readCatalogue = () => {
    catalogue ??= listKnown(parts.db).then(
      (known) => new Map(known.map((each) => [keyOfName(each), each])),
    )
    return catalogue
  }
  const report = emptyReport()
  const writer = catalogueWriter(parts)
  const configured: ConfiguredMembers[] = []

  async function updateEntry(
    found: FoundRepository,
    known: KnownRepository | undefined,
    stop: AbortSignal,
  ) {
    report.read++
    const [entry] = known ? await findById(parts.db, [known.id]) : []
    const update = await readFacts(parts, found, entry, stop)
    await writer.put({ owner: found.owner, update, lastStamp: known?.stamp ?? null })
    return update.problem
  }

  const spellingOf = await readLoginSpellings(parts.db)
  async function readLastStamps() {
    const known = await readCatalogue()
    return (name: RepositoryName) => known.get(keyOfName(name))?.stamp
  }
  await mapConcurrent(
    parts.source.list(spellingOf, readLastStamps),
    { concurrency: READ_CONCURRENCY, signal: parts.signal },
    async (row, stop) => {
      if ('refused' in row) {
        report.refused.push(row.refused)
        return
      }
      if ('members' in row) {
        configured.push(row.members)
        return
      }
      const { found } = row
      const key = keyOfName(found)
      const unlisted = await readCatalogue()
      const known = unlisted.get(key)
      unlisted.delete(key)
      report.found++
      const problem = isUnchanged(found, known)
        ? known.problem
        : await updateEntry(found, known, stop)
      if (problem) report.broken.push({ fullName: `${found.owner}/${found.name}`, reason: problem })
    },
  )
  await writer.flush()
  await syncMembers(parts, configured, report)
  await markUnlisted(parts, await readCatalogue(), report)
  return report
}

function emptyReport(): SyncReport {
  return { found: 0, read: 0, missing: 0, broken: [], refused: [], warnings: [] }
}

/** Runs a transaction. Rejects without writing anything if the sync was aborted or another process has taken over. */
function inTransaction<T>(
  { db, signal, proveLease }: SyncParts,
  write: (tx: Db) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  return db.transaction().execute(async (tx) => {
    await proveLease?.(tx)
    return write(tx)
  })
}

/** Marks the entries that were not listed as missing or hidden, except those that a refused entry may hide. */
async function markUnlisted(
  parts: SyncParts,
  unlisted: ReadonlyMap<string, KnownRepository>,
  report: SyncReport,
): Promise<void> {
  const hidden = new Map(
    report.refused.flatMap(({ hiddenRepositories, reason, isWithdrawn }) =>
      isWithdrawn && hiddenRepositories && 'fullName' in hiddenRepositories
        ? [[nameKey(hiddenRepositories.fullName), reason] as const]
        : [],
    ),
  )
  const missing = [...unlisted].filter(
    ([, known]) => !report.refused.some((refused) => mayBeHiddenBy(known, refused)),
  )
  for (const batch of batchesOf(missing, WRITE_BATCH_SIZE))
    await inTransaction(parts, async (tx) => {
      for (const [key, { id, stamp }] of batch)
        await markMissing(tx, id, parts.now(), { hidden: hidden.get(key), lastStamp: stamp })
    })
  report.missing = missing.length
}

/** Replaces the members that files of the source list. An owner whose directory cannot be read keeps its members. */
async function syncMembers(
  parts: SyncParts,
  configured: readonly ConfiguredMembers[],
  report: SyncReport,
): Promise<void> {
  for (const each of configured) report.warnings.push(...(await storeListedMembers(parts, each)))
  const kept = new Set([
    ...configured.map(({ owner }) => nameKey(owner)),
    ...report.refused
      .filter(({ caseConflictWith }) => !caseConflictWith)
      .map(({ path }) => nameKey(path)),
  ])
  for (const organization of await organizationsWithMembers(parts.db, 'file'))
    if (!kept.has(nameKey(organization.login)))
      await changeMembers(parts, (tx, record) =>
        record(organization, () => removeMemberships(tx, organization, 'file')),
      )
}

/** A repository behind a refused entry is unknown, not missing, unless the entry is a case conflict or withdrawn. */
function mayBeHiddenBy(known: KnownRepository, refused: RefusedEntry): boolean {
  const { caseConflictWith, hiddenRepositories: hidden, isWithdrawn } = refused
  if (caseConflictWith !== undefined || isWithdrawn) return false
  const key = keyOfName(known)
  if (hidden && 'prefix' in hidden) return key.startsWith(nameKey(hidden.prefix))
  if (hidden) return nameKey(hidden.fullName) === key
  const path = nameKey(refused.path.replace(/\.git$/, ''))
  return path === nameKey(known.owner) || path === key
}

/**
 * Updates some repositories of the catalogue, by name. Those that the source does not have are marked missing. `entries`
 * are their current entries. Returns whether anything was written.
 */
export async function refreshRepositories(
  parts: SyncParts,
  names: readonly RepositoryName[],
  entries: ReadonlyMap<string, CatalogueEntry>,
): Promise<boolean> {
  const spellingOf = await readLoginSpellings(
    parts.db,
    names.map(({ owner }) => owner),
  )
  const options = { concurrency: READ_CONCURRENCY, signal: parts.signal }
  const changes = await mapConcurrent(names, options, async (name, stop) => {
    const entry = entries.get(keyOfName(name))
    const owner = spellingOf(name.owner) ?? name.owner
    const found = await parts.source.find(owner, name.name, entry?.stamp)
    if (found && !isUnchanged(found, entry && { ...entry, owner: entry.owner.login }))
      return { owner: found.owner, update: await readFacts(parts, found, entry, stop) }
    if (found || !entry) return undefined
    const hidden = await parts.source.whyHidden?.(name)
    stop.throwIfAborted()
    await markMissing(parts.db, entry.id, parts.now(), { hidden })
    return 'missing'
  })
  // In the order of the names, not of completion, so that new repositories get reproducible ids.
  const writer = catalogueWriter(parts)
  for (const each of changes) if (typeof each === 'object') await writer.put(each)
  await writer.flush()
  return changes.some((each) => each !== undefined)
}

/**
 * Updates some repositories of the catalogue, by name, and the members of their owners. The name of a wiki means its repository.
 * Names that neither the source nor the catalogue has are refused.
 */
export async function syncRepositories(
  parts: SyncParts,
  requested: readonly RepositoryName[],
): Promise<SyncReport> {
  const candidates = [...requested, ...requested.flatMap(repositoryOfWiki)]
  const all = [...new Map(candidates.map((each) => [keyOfName(each), each])).values()]
  const before = await findByNameAsMap(parts.db, all)
  await refreshRepositories(parts, all, before)
  const after = await findByNameAsMap(parts.db, all)
  const isKnown = (name: RepositoryName) =>
    [before, after].some((each) => each.has(keyOfName(name)))
  const names = requested.map((each) => [each, ...repositoryOfWiki(each)].find(isKnown) ?? each)
  const owners = new Set([...after.values()].map(({ owner }) => owner.login))
  const report = { ...emptyReport(), warnings: await storeMembers(parts, owners) }
  for (const [key, name] of new Map(names.map((each) => [keyOfName(each), each]))) {
    const fullName = `${name.owner}/${name.name}`
    const [entry, earlier] = [after.get(key), before.get(key)]
    if (entry) report.found++
    if (entry?.problem) report.broken.push({ fullName, reason: entry.problem })
    if (entry && entry.stamp !== earlier?.stamp) report.read++
    if (!entry && earlier) report.missing++
    if (!entry && !earlier) {
      const reason = (await parts.source.whyHidden?.(name)) ?? 'does not exist'
      report.refused.push({ path: fullName, reason })
    }
  }
  return report
}

/** A hook of the host announces a push to the wiki of `site` as `site.wiki`. A repository may have such a name, too. */
function repositoryOfWiki({ owner, name }: RepositoryName): RepositoryName[] {
  const repository = name.replace(/\.wiki$/i, '')
  return repository !== name && isName(repository) ? [{ owner, name: repository }] : []
}

function isUnchanged(
  { owner, name, stamp }: FoundRepository,
  known?: KnownRepository,
): known is KnownRepository {
  return known?.stamp === stamp && known.name === name && known.owner === owner
}

type RepositoryUpdate = Omit<CatalogueUpdate, 'ownerId'>

interface OwnedUpdate {
  owner: string
  update: RepositoryUpdate
  /** If set, an entry with another stamp is not replaced; null stands for no entry. */
  lastStamp?: string | null
}

async function readFacts(
  { source, now }: SyncParts,
  found: FoundRepository,
  entry?: CatalogueEntry,
  signal?: AbortSignal,
): Promise<RepositoryUpdate> {
  const { name, stamp } = found
  // Facts of an unreadable repository may be placeholders.
  const previous = entry && entry.problem === null ? entry.facts : undefined
  try {
    return { name, stamp, facts: await source.facts(found, previous, signal), problem: null }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { name, stamp, facts: entry?.facts ?? factsOfUnreadable(now()), problem: error.message }
  }
}

const keyOfUpdate = ({ owner, update }: OwnedUpdate): string =>
  keyOfName({ owner, name: update.name })

/** Commits rows in batches: a transaction for each repository would flush the disk each time. */
function catalogueWriter(parts: SyncParts) {
  const { now } = parts
  const owners = new Map<string, Account>()
  let waiting: OwnedUpdate[] = []
  let writing = Promise.resolve()

  /** Batches are written one after the other: another connection does not see a new owner before the transaction commits. */
  function flush(): Promise<void> {
    writing = writing.then(writeBatch)
    return writing
  }

  async function writeBatch(): Promise<void> {
    // By name, not by completion, so that new repositories get reproducible ids.
    const batch = waiting.toSorted((a, b) => (keyOfUpdate(a) < keyOfUpdate(b) ? -1 : 1))
    waiting = []
    if (batch.length === 0) return
    await inTransaction(parts, async (tx) => {
      for (const [owner, owned] of Map.groupBy(batch, ({ owner }) => owner)) {
        const readable = owned.filter(({ update }) => update.problem === null)
        // Infinity if none of them is readable.
        const oldest = Math.min(...readable.map(({ update }) => update.facts.createdAt))
        let account = owners.get(owner)
        if (!account || oldest < account.createdAt) {
          const isOrganization = owned.some(({ update }) => update.facts.ownerIsOrganization)
          const createdAt = readable.length > 0 ? oldest : now()
          const type = isOrganization ? 'Organization' : 'User'
          account = await ensureAccount(tx, owner, createdAt, type)
          owners.set(owner, account)
        }
        for (const { update, lastStamp } of owned)
          await putRepository(tx, { ownerId: account.id, ...update }, now(), lastStamp)
      }
    })
  }

  return {
    async put(update: OwnedUpdate): Promise<void> {
      waiting.push(update)
      if (waiting.length >= WRITE_BATCH_SIZE) await flush()
    },
    flush,
  }
}

/** Stores the members of the owners: an owner with members becomes an organization. Returns warnings about them. */
export async function storeMembers(
  parts: SyncParts,
  owners: ReadonlySet<string>,
): Promise<RefusedEntry[]> {
  const warnings: RefusedEntry[] = []
  for (const owner of owners) {
    const members = await parts.source.members(owner)
    if (members) warnings.push(...(await storeListedMembers(parts, members)))
  }
  return warnings
}

/** Stores the members that the source lists for an owner. Returns warnings about them. */
async function storeListedMembers(
  parts: SyncParts,
  { owner, members, warnings }: ConfiguredMembers,
): Promise<RefusedEntry[]> {
  if (!members) return warnings
  return changeMembers(parts, async (tx, record) => {
    const organization = await ensureOrganization(tx, owner, parts.now())
    if (!organization) return [...warnings, { path: owner, reason: ownerIsUser(owner) }]
    // New accounts get the creation time of the organization, so that it does not depend on when the sync runs.
    const since = { origin: 'file', now: organization.createdAt } as const
    const { refused } = await record(organization, () =>
      replaceMemberships(tx, organization, members, since),
    )
    const reason = 'an organization cannot be a member'
    return [...warnings, ...refused.map((login) => ({ path: `${owner}: ${login}`, reason }))]
  })
}

/** Runs a transaction that records its changes of the members in the audit log. */
const changeMembers = <T>(
  parts: SyncParts,
  act: (tx: Db, record: RecordMembers) => Promise<T>,
): Promise<T> =>
  audited(parts, parts.actor ?? THE_SERVICE, (record) =>
    inTransaction(parts, (tx) =>
      act(tx, ({ id }, change) =>
        recordMembershipChanges(tx, record, { organizationId: id, origin: 'file' }, change),
      ),
    ),
  )

type RecordMembers = <T>(organization: Pick<Account, 'id'>, change: () => Promise<T>) => Promise<T>

const ownerIsUser = (owner: string): string =>
  `a user with tokens, so its members are ignored; \`godwit account edit ${owner} --type Organization\` makes it an organization`
