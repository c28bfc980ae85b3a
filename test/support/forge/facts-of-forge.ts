import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { FactKind } from '../../../src/records/fact-kinds.ts'
import { forgeDiscussions } from '../../../src/sources/forge/discussions/forge-discussions.ts'
import type { RepositoryName } from '../../../src/sources/source.ts'
import type { Facts } from '../gitea-archive.ts'
import { MemoryDiscussionStore } from './memory-discussion-store.ts'

/**
 * Reads everything about a repository from a forge; attached files are written into `folder` by their paths in
 * an archive.
 */
export async function factsOfForge(
  target: { url: string; token: string },
  repository: RepositoryName,
  folder: string,
): Promise<Facts> {
  const discussions = forgeDiscussions(target)
  const store = new MemoryDiscussionStore()
  await store.readAll(discussions, repository)
  const facts: Record<string, unknown[]> = {}
  for (const group of store.groups.values()) {
    for (const kind of Object.keys(group.facts) as FactKind[])
      facts[kind] = [...(facts[kind] ?? []), ...group.facts[kind]!]
    for (const file of group.files) {
      const path = join(folder, file.file)
      await mkdir(dirname(path), { recursive: true })
      await pipeline(discussions.open(file, AbortSignal.timeout(60_000)), createWriteStream(path))
    }
  }
  return facts as Facts
}
