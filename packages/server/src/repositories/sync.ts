import { Unreadable } from '@godwit/git/unreadable'
import type {
  ConfiguredMembers,
  FoundRepository,
  RefusedEntry,
  RepositoryName,
  Source,
} from '@godwit/hosts/source'
import { batchesOf } from '@godwit/lib/chunks'
import { isName } from '@godwit/lib/names'
import { mapConcurrent } from '@godwit/lib/turns'
import { type Account, nameKey } from '../accounts/account.ts'
import { ensureAccount, ensureOrganization, readLoginSpellings } from '../accounts/account-store.ts'
import { type Actor, type AuditDependencies, audited, THE_SERVICE } from '../accounts/audit-log.ts'
import {
  organizationsWithMembers,
  recordMembershipChanges,
  removeMemberships,
  replaceMemberships,
} from '../accounts/membership-store.ts'
import type { Db } from '../db/database.ts'
import { metadataOfUnreadable } from './repository-metadata.ts'
import {
  findById,
  findByNameAsMap,
  type IndexedRepository,
  type IndexUpdate,
  type KnownRepository,
  keyOfName,
  listKnown,
  markMissing,
  putRepository,
} from './repository-store.ts'

export interface SyncDependencies {
  db: Db
  source: Source
  now: () => number
  /** Aborts before the next write. */
  signal?: AbortSignal | undefined
  /** Who causes the sync, for the audit log. By default the service. */
  actor?: Actor | undefined
  /** Gets the entries of the audit log. */
  log?: AuditDependencies['log']
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
 * Updates the repository index from the source. A repository with an unchanged change token is not read again. A repository that cannot be
 * read keeps its last metadata, with the reason, and does not stop the sync. An entry that `refreshRepositories` changes meanwhile is
 * kept: what the sync has listed may be older.
 */
export async function syncAllRepositories(dependencies: SyncDependencies): Promise<SyncReport> {
  let index: Promise<Map<string, KnownRepository>> | undefined
  /** Called after the source has started to list: a forge has renamed the accounts by then. */
  const readIndex = () => {
    index ??= listKnown(dependencies.db).then(
      (known) => new Map(known.map((each) => [keyOfName(each), each])),
    )
    return index
  }
  const report = emptyReport()
  const writer = indexWriter(dependencies)
  const configured: ConfiguredMembers[] = []

  async function updateEntry(
    found: FoundRepository,
    known: KnownRepository | undefined,
    stop: AbortSignal,
  ) {
    report.read++
    const [entry] = known ? await findById(dependencies.db, [known.id]) : []
    const update = await readMetadata(dependencies, found, entry, stop)
    await writer.put({ owner: found.owner, update, lastChangeToken: known?.changeToken ?? null })
    return update.problem
  }

  const spellingOf = await readLoginSpellings(dependencies.db)
  async function readLastChangeTokens() {
    const known = await readIndex()
    return (name: RepositoryName) => known.get(keyOfName(name))?.changeToken
  }
  await mapConcurrent(
    dependencies.source.list(spellingOf, readLastChangeTokens),
    { concurrency: READ_CONCURRENCY, signal: dependencies.signal },
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
      const unlisted = await readIndex()
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
  await syncMembers(dependencies, configured, report)
  await markUnlisted(dependencies, await readIndex(), report)
  return report
}

function emptyReport(): SyncReport {
  return { found: 0, read: 0, missing: 0, broken: [], refused: [], warnings: [] }
}

/** Runs a transaction. Rejects without writing anything if the sync was aborted or another process has taken over. */
function inTransaction<T>(
  { db, signal, proveLease }: SyncDependencies,
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
  dependencies: SyncDependencies,
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
    await inTransaction(dependencies, async (tx) => {
      for (const [key, { id, changeToken }] of batch)
        await markMissing(tx, id, dependencies.now(), {
          hidden: hidden.get(key),
          lastChangeToken: changeToken,
        })
    })
  report.missing = missing.length
}

/** Replaces the members that files of the source list. An owner whose directory cannot be read keeps its members. */
async function syncMembers(
  dependencies: SyncDependencies,
  configured: readonly ConfiguredMembers[],
  report: SyncReport,
): Promise<void> {
  for (const each of configured)
    report.warnings.push(...(await storeListedMembers(dependencies, each)))
  const kept = new Set([
    ...configured.map(({ owner }) => nameKey(owner)),
    ...report.refused
      .filter(({ caseConflictWith }) => !caseConflictWith)
      .map(({ path }) => nameKey(path)),
  ])
  for (const organization of await organizationsWithMembers(dependencies.db, 'file'))
    if (!kept.has(nameKey(organization.login)))
      await changeMembers(dependencies, (tx, record) =>
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
 * Updates some repositories of the repository index, by name. Those that the source does not have are marked missing. `entries`
 * are their current entries. Returns whether anything was written.
 */
export async function refreshRepositories(
  dependencies: SyncDependencies,
  names: readonly RepositoryName[],
  entries: ReadonlyMap<string, IndexedRepository>,
): Promise<boolean> {
  const spellingOf = await readLoginSpellings(
    dependencies.db,
    names.map(({ owner }) => owner),
  )
  const options = { concurrency: READ_CONCURRENCY, signal: dependencies.signal }
  const changes = await mapConcurrent(names, options, async (name, stop) => {
    const entry = entries.get(keyOfName(name))
    const owner = spellingOf(name.owner) ?? name.owner
    const found = await dependencies.source.find(owner, name.name, entry?.changeToken)
    if (found && !isUnchanged(found, entry && { ...entry, owner: entry.owner.login }))
      return { owner: found.owner, update: await readMetadata(dependencies, found, entry, stop) }
    if (found || !entry) return undefined
    const hidden = await dependencies.source.whyHidden?.(name)
    stop.throwIfAborted()
    await markMissing(dependencies.db, entry.id, dependencies.now(), { hidden })
    return 'missing'
  })
  // In the order of the names, not of completion, so that new repositories get reproducible ids.
  const writer = indexWriter(dependencies)
  for (const each of changes) if (typeof each === 'object') await writer.put(each)
  await writer.flush()
  return changes.some((each) => each !== undefined)
}

/**
 * Updates some repositories of the repository index, by name, and the members of their owners. The name of a wiki means its repository.
 * Names that neither the source nor the repository index has are refused.
 */
export async function syncRepositories(
  dependencies: SyncDependencies,
  requested: readonly RepositoryName[],
): Promise<SyncReport> {
  const candidates = [...requested, ...requested.flatMap(repositoryOfWiki)]
  const all = [...new Map(candidates.map((each) => [keyOfName(each), each])).values()]
  const before = await findByNameAsMap(dependencies.db, all)
  await refreshRepositories(dependencies, all, before)
  const after = await findByNameAsMap(dependencies.db, all)
  const isKnown = (name: RepositoryName) =>
    [before, after].some((each) => each.has(keyOfName(name)))
  const names = requested.map((each) => [each, ...repositoryOfWiki(each)].find(isKnown) ?? each)
  const owners = new Set([...after.values()].map(({ owner }) => owner.login))
  const report = { ...emptyReport(), warnings: await storeMembers(dependencies, owners) }
  for (const [key, name] of new Map(names.map((each) => [keyOfName(each), each]))) {
    const fullName = `${name.owner}/${name.name}`
    const [entry, earlier] = [after.get(key), before.get(key)]
    if (entry) report.found++
    if (entry?.problem) report.broken.push({ fullName, reason: entry.problem })
    if (entry && entry.changeToken !== earlier?.changeToken) report.read++
    if (!entry && earlier) report.missing++
    if (!entry && !earlier) {
      const reason = (await dependencies.source.whyHidden?.(name)) ?? 'does not exist'
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
  { owner, name, changeToken }: FoundRepository,
  known?: KnownRepository,
): known is KnownRepository {
  return known?.changeToken === changeToken && known.name === name && known.owner === owner
}

type RepositoryUpdate = Omit<IndexUpdate, 'ownerId'>

interface OwnedUpdate {
  owner: string
  update: RepositoryUpdate
  /** If set, an entry with another change token is not replaced; null stands for no entry. */
  lastChangeToken?: string | null
}

async function readMetadata(
  { source, now }: SyncDependencies,
  found: FoundRepository,
  entry?: IndexedRepository,
  signal?: AbortSignal,
): Promise<RepositoryUpdate> {
  const { name, changeToken } = found
  // The metadata of an unreadable repository may be a placeholder.
  const previous = entry && entry.problem === null ? entry.metadata : undefined
  try {
    return {
      name,
      changeToken,
      metadata: await source.metadata(found, previous, signal),
      problem: null,
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return {
      name,
      changeToken,
      metadata: entry?.metadata ?? metadataOfUnreadable(now()),
      problem: error.message,
    }
  }
}

const keyOfUpdate = ({ owner, update }: OwnedUpdate): string =>
  keyOfName({ owner, name: update.name })

/** Commits rows in batches: a transaction for each repository would flush the disk each time. */
function indexWriter(dependencies: SyncDependencies) {
  const { now } = dependencies
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
    await inTransaction(dependencies, async (tx) => {
      for (const [owner, owned] of Map.groupBy(batch, ({ owner }) => owner)) {
        const readable = owned.filter(({ update }) => update.problem === null)
        // Infinity if none of them is readable.
        const oldest = Math.min(...readable.map(({ update }) => update.metadata.createdAt))
        let account = owners.get(owner)
        if (!account || oldest < account.createdAt) {
          const isOrganization = owned.some(({ update }) => update.metadata.ownerIsOrganization)
          const createdAt = readable.length > 0 ? oldest : now()
          const type = isOrganization ? 'Organization' : 'User'
          account = await ensureAccount(tx, owner, createdAt, type)
          owners.set(owner, account)
        }
        for (const { update, lastChangeToken } of owned)
          await putRepository(tx, { ownerId: account.id, ...update }, now(), lastChangeToken)
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
  dependencies: SyncDependencies,
  owners: ReadonlySet<string>,
): Promise<RefusedEntry[]> {
  const warnings: RefusedEntry[] = []
  for (const owner of owners) {
    const members = await dependencies.source.members(owner)
    if (members) warnings.push(...(await storeListedMembers(dependencies, members)))
  }
  return warnings
}

/** Stores the members that the source lists for an owner. Returns warnings about them. */
async function storeListedMembers(
  dependencies: SyncDependencies,
  { owner, members, warnings }: ConfiguredMembers,
): Promise<RefusedEntry[]> {
  if (!members) return warnings
  return changeMembers(dependencies, async (tx, record) => {
    const organization = await ensureOrganization(tx, owner, dependencies.now())
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
  dependencies: SyncDependencies,
  act: (tx: Db, record: RecordMembers) => Promise<T>,
): Promise<T> =>
  audited(dependencies, dependencies.actor ?? THE_SERVICE, (record) =>
    inTransaction(dependencies, (tx) =>
      act(tx, ({ id }, change) =>
        recordMembershipChanges(tx, record, { organizationId: id, origin: 'file' }, change),
      ),
    ),
  )

type RecordMembers = <T>(organization: Pick<Account, 'id'>, change: () => Promise<T>) => Promise<T>

const ownerIsUser = (owner: string): string =>
  `a user with tokens, so its members are ignored; \`godwit account edit ${owner} --type Organization\` makes it an organization`
