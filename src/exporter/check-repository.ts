import type { BlobStore } from '../blobs/blob-store.ts'
import type { RepositoryName, Source } from '../sources/source.ts'
import { createSegmentMaker } from './make-segment.ts'

export interface CheckParts {
  source: Source
  scratchDirectory: string
}

export interface Checked {
  bytes: number
  /** A problem that does not prevent an export. */
  warning: string | null
}

/** Reads and discards the bytes of the segment. */
const DISCARDING_STORE = {
  async put(_key, bytes) {
    for await (const _ of bytes);
  },
  delete: async () => {},
} satisfies Partial<BlobStore>

/** Verifies a repository as its first export would. Rejects with Unreadable if an export would fail. */
export async function checkRepository(
  { source, scratchDirectory }: CheckParts,
  repository: RepositoryName,
  signal: AbortSignal,
): Promise<Checked> {
  const maker = createSegmentMaker({
    source,
    blobs: DISCARDING_STORE as unknown as BlobStore,
    scratchDirectory,
  })
  const order = { repository, key: 'check', lastVerified: undefined, storedFingerprints: [] }
  const { bytes, segment } = await maker.make(order, signal, () => {})
  return { bytes, warning: segment!.warning }
}
