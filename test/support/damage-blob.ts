import { buffer } from 'node:stream/consumers'
import type { BlobStore } from '../../packages/server/src/blobs/blob-store.ts'

export type Change = (bytes: Buffer) => Buffer

/** Replaces the stored bytes of a blob, on any store. */
export async function damageBlob(blobs: BlobStore, key: string, change: Change): Promise<void> {
  const bytes = await buffer(await blobs.open(key))
  await blobs.delete(key)
  await blobs.put(key, [change(bytes)])
}

/** Flips one bit in the middle. */
export const flipBit: Change = (bytes) => {
  const flipped = Buffer.from(bytes)
  flipped[bytes.length >> 1]! ^= 1
  return flipped
}

export const truncate: Change = (bytes) => bytes.subarray(0, bytes.length - 1)

export const lengthen: Change = (bytes) => Buffer.concat([bytes, Buffer.alloc(1)])
