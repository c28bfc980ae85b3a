import type { BlobStore, Composing } from '../blobs/blob-store.ts'
import type { ArchivePlan } from './plan-archive.ts'

/** The archive as one blob, made where its segments are. Nothing is left of one that fails. */
export async function composeArchive(
  plan: ArchivePlan,
  blobs: BlobStore & Composing,
  key: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  await blobs.compose(key, plan.parts, { signal })
  const length = await blobs.size(key)
  if (length === plan.length) return
  // A segment that is not as long as its description says.
  await blobs.delete(key)
  throw new Error(`an archive of ${plan.length} bytes was composed with ${length}`)
}
