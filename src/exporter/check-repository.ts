import type { BlobStore } from '../blobs/blob-store.ts'
import type { RepositoryName, Source } from '../sources/source.ts'
import { createSegmentMaker } from './make-segment.ts'

export interface CheckParts {
  source: Source
  scratchDirectory: string
}

export interface Checked {
  bytes: number
  /** What would be told of it though it can be exported. */
  warning: string | null
}

/** Takes every byte and keeps none: what an export would find is found, and nothing is written. */
const NOWHERE = {
  async put(_key, bytes) {
    for await (const _ of bytes);
  },
  delete: async () => {},
} satisfies Partial<BlobStore>

/** Proves a repository as an export does, all of it anew. Rejects with Unreadable where an export would. */
export async function checkRepository(
  { source, scratchDirectory }: CheckParts,
  repository: RepositoryName,
  signal: AbortSignal,
): Promise<Checked> {
  const maker = createSegmentMaker({
    source,
    blobs: NOWHERE as unknown as BlobStore,
    scratchDirectory,
  })
  let bytes = 0
  const made = await maker.make({ repository, key: 'check', lastVerified: undefined }, signal, {
    async isNeeded(look) {
      bytes = look.bytes
      return true
    },
    onBytes() {},
  })
  return { bytes, warning: made?.warning ?? null }
}
