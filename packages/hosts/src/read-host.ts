import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ComparedHost } from '@godwit/archive/compare/compare'
import { patchId, pullsOf, type ReadOptions, renamed } from '@godwit/archive/compare/read-archive'
import { hashKey } from '@godwit/archive/formats/sort-records'
import type { RecordKind } from '@godwit/archive/records/record-kinds'
import { sortedRows } from '@godwit/lib/sorted-rows'
import { type Group, readStateOf } from './discussions.ts'
import type { Host } from './host.ts'
import { FileDamaged, FileTooLarge, HostNotFound, HostRequestFailed } from './host-errors.ts'
import type { RepositoryName } from './source.ts'

interface ReadHostOptions extends ReadOptions {
  host: Host
  scratch: string
}

/** Returns a host for `compare`. */
export const comparedHost = (host: Host): ComparedHost => ({
  kind: host.kind,
  url: host.url,
  giteaVersion: host.giteaVersion,
  readRepository: (fullName, options, scratch) =>
    readRepository(fullName, { ...options, host, scratch }),
})

async function readRepository(fullName: string, options: ReadHostOptions): Promise<void> {
  const { host, nameOnLeft, onProgress, onFailure } = options
  const [owner = '', name = ''] = fullName.split('/')
  onProgress(`reading ${fullName} of ${host.url}`)
  try {
    await readRecords({ owner, name }, options)
    await readGitData({ owner, name }, options)
  } catch (error) {
    if (!(error instanceof HostRequestFailed) || error.status === 401) throw error
    const missing = `${host.url} does not have it, or the token may not read it`
    onFailure(nameOnLeft(fullName), error instanceof HostNotFound ? missing : error.message)
  }
}

async function readGitData(
  repository: RepositoryName,
  { host, comparisonRows, git, side, nameOnLeft, onProgress, signal }: ReadHostOptions,
): Promise<void> {
  const fullName = `${repository.owner}/${repository.name}`
  const name = nameOnLeft(fullName)
  const wiki = { ...repository, name: `${repository.name}.wiki` }
  comparisonRows.addRefs(side, name, (await host.refs(repository, signal)) ?? new Map())
  comparisonRows.addRefs(side, name, (await host.refs(wiki, signal)) ?? new Map(), 'wiki')
  // A host does not list its LFS objects, so it is asked for those of the archive.
  const objects = comparisonRows
    .recordsOf('lfs_objects', 'left', name)
    .map((object) => ({ oid: object.name, size: Number.parseInt(object.value, 10) }))
    .toArray()
  for (const [oid, size] of await host.lfsSizes(repository, objects, signal))
    comparisonRows.addLfsObject(side, name, oid, size)
  for (const { number } of pullsOf(comparisonRows, side, name)) {
    // Without the commits in the archive there is nothing to compare the diff with.
    if (comparisonRows.diffOf('left', name, number) === undefined) continue
    onProgress(`reading ${fullName} of ${host.url}: changes of #${number}`)
    const diff = host.pullDiff(repository, number, signal)
    const id = await patchId(git, diff, signal).catch((error: unknown) => {
      if (error instanceof HostRequestFailed) return `not readable: ${error.message}`
      throw error
    })
    comparisonRows.addDiff(side, name, number, id)
  }
}

/** Reads issues, pull requests, releases and the like. A group that changes meanwhile is in several batches, and the last one counts. */
async function readRecords(
  repository: RepositoryName,
  { host, scratch, comparisonRows, side, nameOnLeft, onNote, signal }: ReadHostOptions,
): Promise<void> {
  const { discussions } = host
  const fullName = `${repository.owner}/${repository.name}`
  using groups = sortedRows(join(scratch, `groups-${hashKey(fullName)}`))
  const nothingStored = { cursor: null, async *versions() {}, find: async () => undefined }
  let lastCursor: string | null = null
  const changes = await discussions.findChanges(repository, nothingStored, signal)
  for await (const { put, remove, cursor } of changes.batches()) {
    for (const group of put) groups.add('groups', hashKey(group.key), 0, group)
    for (const key of remove) groups.add('groups', hashKey(key), 0, null)
    lastCursor = cursor
  }
  for (const note of readStateOf(lastCursor)?.notes ?? []) onNote(`${fullName}: ${note}`)
  let last: [key: number, group: Group | null] | undefined
  for (const next of groups.all<Group | null>('groups')) {
    if (last?.[1] && last[0] !== next[0]) await addGroup(last[1])
    last = next
  }
  if (last?.[1]) await addGroup(last[1])

  async function addGroup({ records, files }: Group): Promise<void> {
    const filesByPath = new Map(files.map((file) => [file.file, file]))
    const digestFile = async (path: string) => {
      const file = filesByPath.get(path)
      if (!file) return undefined
      const digest = createHash('sha256')
      try {
        for await (const chunk of discussions.open(file, signal)) digest.update(chunk)
        return digest.digest('hex')
      } catch (error) {
        if (![HostNotFound, FileDamaged, FileTooLarge].some((each) => error instanceof each))
          throw error
        onNote((error as Error).message)
        return undefined
      }
    }
    for (const kind of Object.keys(records) as RecordKind[])
      for (const record of records[kind] ?? []) {
        const digest = 'file' in record ? await digestFile(String(record.file)) : undefined
        // A link to a file that the host does not have is only text.
        if ('file' in record && digest === undefined) continue
        const digestOnce = async (path: string) => digest ?? digestFile(path)
        await comparisonRows.addRecord(side, kind, renamed(record, nameOnLeft), digestOnce)
      }
  }
}
