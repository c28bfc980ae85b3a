import { GetObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3'
import {
  assertBlobKey,
  type BlobStore,
  type Composing,
  isBlobKey,
  type StoredBlob,
} from './blob-store.ts'
import { type Bucket, connectS3 } from './s3-bucket.ts'
import { composeParts } from './s3-compose.ts'
import { type PartLimits, S3_LIMITS } from './s3-compose-plan.ts'
import { abortedBy } from './s3-multipart.ts'
import { putStreamed } from './s3-put.ts'
import { openObject, sizeOf } from './s3-read.ts'
import { sweepUnfinishedUploads } from './s3-unfinished.ts'

/** Plain values, so that a thread can be given them. */
export interface S3Options {
  bucket: string
  /** What the names of the objects begin with; nobody else's may. */
  prefix?: string | undefined
  /** A server other than Amazon's; its buckets are paths, not hosts. */
  endpoint?: string | undefined
  /** Where clients reach the same server, if they know it by another address. */
  publicEndpoint?: string | undefined
  limits?: PartLimits
}

/**
 * Blobs as objects `PREFIX/KEY`, and `PREFIX/unfinished/…` for pieces of what is being composed. Loading this module
 * loads the SDK: import it only where it is wanted.
 */
export function createS3BlobStore(options: S3Options): BlobStore & Composing {
  const { bucket: name, endpoint, publicEndpoint = endpoint, limits = S3_LIMITS } = options
  const prefix = options.prefix ? `${options.prefix.replace(/\/+$/, '')}/` : ''
  const bucket: Bucket = { s3: connectS3(endpoint), name, prefix }
  const outside = publicEndpoint === endpoint ? bucket.s3 : connectS3(publicEndpoint)

  return {
    async put(key, bytes, options = {}) {
      assertBlobKey(key)
      await toldBy(options.signal, putStreamed(bucket, key, bytes, options))
    },

    async open(key, range, { signal } = {}) {
      assertBlobKey(key)
      return toldBy(signal, openObject(bucket, key, range, signal))
    },

    async size(key) {
      assertBlobKey(key)
      return sizeOf(bucket, key)
    },

    async delete(key) {
      assertBlobKey(key)
      await bucket.s3.deleteObject({ Bucket: name, Key: prefix + key })
    },

    list: () => finishedBlobs(bucket),

    sweepUnfinished: (olderThanMs) => sweepUnfinishedUploads(bucket, Date.now() - olderThanMs),

    async probe({ signal } = {}) {
      const asked = { Bucket: name, Prefix: prefix, MaxKeys: 1 }
      await toldBy(signal, bucket.s3.listObjectsV2(asked, abortedBy(signal)))
    },

    async compose(key, parts, { signal } = {}) {
      assertBlobKey(key)
      for (const part of parts) if ('key' in part) assertBlobKey(part.key)
      await toldBy(signal, composeParts(bucket, key, parts, limits, signal))
    },

    async presign(key, { filename, contentType, expiresInSeconds }) {
      assertBlobKey(key)
      // Anything else would have to be quoted, and clients differ in how they read that.
      if (!/^[\w.-]+$/.test(filename)) throw new TypeError(`not a plain file name: ${filename}`)
      const asked = new GetObjectCommand({
        Bucket: name,
        Key: prefix + key,
        ResponseContentDisposition: `attachment; filename=${filename}`,
        ResponseContentType: contentType,
      })
      // Loaded only here: threads that write segments sign no addresses.
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
      return getSignedUrl(outside, asked, { expiresIn: expiresInSeconds })
    },
  }
}

/** An abort is told in the words of whoever aborted, not in the SDK's. */
async function toldBy<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

async function* finishedBlobs({ s3, name, prefix }: Bucket): AsyncGenerator<StoredBlob> {
  // The delimiter leaves out the pieces of what is not finished, and whatever else lies deeper.
  const asked = { Bucket: name, Prefix: prefix, Delimiter: '/' }
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, asked)) {
    for (const { Key, Size, LastModified } of Contents) {
      const key = Key!.slice(prefix.length)
      if (isBlobKey(key)) yield { key, size: Size!, modifiedAt: LastModified!.getTime() }
    }
  }
}
