import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { RecordKind } from '../../../packages/archive/src/records/record-kinds.ts'
import { forgeDiscussions } from '../../../packages/hosts/src/forge/discussions/forge-discussions.ts'
import type { RepositoryName } from '../../../packages/hosts/src/source.ts'
import type { RecordLists } from '../gitea-archive.ts'
import { MemoryDiscussionStore } from './memory-discussion-store.ts'

/**
 * Reads everything about a repository from a forge; attached files are written into `folder` by their paths in
 * an archive.
 */
export async function recordsOfForge(
  target: { url: string; token: string },
  repository: RepositoryName,
  folder: string,
): Promise<RecordLists> {
  const discussions = forgeDiscussions(target)
  const store = new MemoryDiscussionStore()
  await store.readAll(discussions, repository)
  const records: Record<string, unknown[]> = {}
  for (const group of store.groups.values()) {
    for (const kind of Object.keys(group.records) as RecordKind[])
      records[kind] = [...(records[kind] ?? []), ...group.records[kind]!]
    for (const file of group.files) {
      const path = join(folder, file.file)
      await mkdir(dirname(path), { recursive: true })
      await pipeline(discussions.open(file, AbortSignal.timeout(60_000)), createWriteStream(path))
    }
  }
  return records as RecordLists
}
