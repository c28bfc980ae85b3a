import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { sortedRows } from '../../lib/sorted-rows.ts'
import type { FactKind } from '../../records/fact-kinds.ts'
import { type Batch, type Group, readStateOf } from '../../sources/discussions.ts'
import type { Host } from '../../sources/forge/open-host.ts'
import {
  FileDamaged,
  FileTooLarge,
  ForgeNotFound,
  ForgeRequestFailed,
} from '../../sources/forge-errors.ts'
import type { LfsPointer } from '../../sources/snapshot.ts'
import type { RepositoryName } from '../../sources/source.ts'
import { addLfsObject, addRefs, patchId, pullsOf, type ReadParts, renamed } from './read-archive.ts'
import { hashKey } from './spool.ts'

interface HostParts extends ReadParts {
  host: Host
  /** A directory for files that the caller removes. */
  scratch: string
}

/** Reads one repository of a host into the spool, after that of the archive. Returns false if the host does not have it. */
export async function readHostRepository(
  repository: RepositoryName,
  parts: HostParts,
  signal: AbortSignal,
): Promise<boolean> {
  const { host, spool, git, side, nameOnLeft, onProgress, onNote } = parts
  const fullName = `${repository.owner}/${repository.name}`
  const name = nameOnLeft(fullName)
  onProgress(`reading ${fullName} of ${host.url}`)
  try {
    const last = await readGroups(repository, parts, signal)
    // GitHub is read like an old Gitea, whose limits are in the list of known differences.
    for (const note of readStateOf(last)?.notes ?? [])
      if (host.kind === 'forge' || !note.startsWith('Gitea ')) onNote(`${fullName}: ${note}`)
  } catch (error) {
    if (error instanceof ForgeNotFound) return false
    throw error
  }
  addRefs(spool, side, name, (await host.refs(repository, signal)) ?? new Map())
  const wiki = await host.refs({ ...repository, name: `${repository.name}.wiki` }, signal)
  addRefs(spool, side, name, wiki ?? new Map(), 'wiki')
  const objects = lfsObjectsOf(parts, name)
  const sizes = objects.length > 0 ? await host.lfsSizes(repository, objects, signal) : new Map()
  for (const [oid, size] of sizes) addLfsObject(spool, side, name, { oid, size })
  for (const { number } of pullsOf(spool, side, name)) {
    // Nothing can be said about a diff whose commits the archive does not have.
    if (spool.diffOf('left', name, number) === undefined) continue
    onProgress(`reading ${fullName} of ${host.url}: changes of #${number}`)
    const id = await patchId(git, host.pullDiff(repository, number, signal), signal).catch(
      (error: unknown) => {
        if (error instanceof ForgeRequestFailed) return `not readable: ${error.message}`
        throw error
      },
    )
    spool.addDiff(side, name, number, id)
  }
  return true
}

/** Reads the records. A group that changes meanwhile is in several batches, and the last one counts. Returns the last cursor. */
async function readGroups(
  repository: RepositoryName,
  { host, scratch, spool, side, nameOnLeft, onNote }: HostParts,
  signal: AbortSignal,
): Promise<string | null> {
  const { discussions } = host
  using groups = sortedRows(join(scratch, `groups-${hashKey(JSON.stringify(repository))}`))
  const nothingStored = { cursor: null, async *versions() {}, find: async () => undefined }
  let cursor: string | null = null
  for await (const batch of discussions.read(repository, nothingStored, signal)) {
    addBatch(batch)
    ;({ cursor } = batch)
  }
  function addBatch({ put, remove }: Batch): void {
    for (const group of put) groups.add('groups', hashKey(group.key), 0, group)
    for (const key of remove) groups.add('groups', hashKey(key), 0, null)
  }
  let last: [key: number, group: Group | null] | undefined
  for (const next of groups.all<Group | null>('groups')) {
    if (last && last[0] !== next[0]) await addGroup(last[1])
    last = next
  }
  if (last) await addGroup(last[1])
  return cursor

  async function addGroup(group: Group | null): Promise<void> {
    const files = new Map(group?.files.map((file) => [file.file, file]))
    const digestFile = async (path: string) => {
      const file = files.get(path)
      if (!file) return undefined
      const digest = createHash('sha256')
      try {
        for await (const chunk of discussions.open(file, signal)) digest.update(chunk)
        return digest.digest('hex')
      } catch (error) {
        const isUnreadable = [ForgeNotFound, FileDamaged, FileTooLarge].some(
          (each) => error instanceof each,
        )
        if (!isUnreadable) throw error
        onNote((error as Error).message)
        return undefined
      }
    }
    for (const kind of Object.keys(group?.facts ?? {}) as FactKind[])
      for (const fact of group?.facts[kind] ?? []) {
        const file = 'file' in fact ? String(fact.file) : undefined
        const digest = file === undefined ? undefined : await digestFile(file)
        // A link to a file that the host does not have is only text.
        if (file !== undefined && digest === undefined) continue
        const digestOnce = async (path: string) => digest ?? digestFile(path)
        await spool.addFact(side, kind, renamed(fact, nameOnLeft), digestOnce)
      }
  }
}

/** A host does not list its LFS objects, so it is asked for those of the archive. */
function lfsObjectsOf({ spool }: HostParts, repository: string): LfsPointer[] {
  return Iterator.from(spool.groups('lfs_objects', repository))
    .flatMap(({ left }) => left)
    .map(({ name, value }) => ({ oid: name, size: Number.parseInt(value, 10) }))
    .toArray()
}
