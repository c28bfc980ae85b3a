import {
  GetObjectCommand,
  type MultipartUpload,
  type Part,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3'
import { type BlobStore, type ComposingStore, isBlobKey, type StoredBlob } from './blob-store.ts'
import {
  abortOptions,
  type Bucket,
  connectS3,
  isS3Error,
  objectOf,
  objectSize,
  openObject,
  promptOptions,
} from './s3-bucket.ts'
import { composeObject, S3_LIMITS } from './s3-compose.ts'
import { putStream, type Upload } from './s3-upload.ts'

/** Plain values, so that they can be passed to a thread. */
export interface S3Options {
  bucket: string
  /** The names of all objects begin with it. Nothing else may use it. */
  prefix?: string | undefined
  /** The address of a server other than Amazon's. Its buckets are paths, not hosts. */
  endpoint?: string | undefined
  /** The address at which clients reach the server, if it differs from `endpoint`. */
  publicEndpoint?: string | undefined
}

/** Stores blobs as objects `PREFIX/KEY`. Loading this module loads the SDK, so import it only if a bucket is used. */
export function createS3BlobStore(options: S3Options): BlobStore & ComposingStore {
  const { bucket: name, endpoint, publicEndpoint = endpoint } = options
  const prefix = options.prefix ? `${options.prefix.replace(/\/+$/, '')}/` : ''
  const bucket: Bucket = { s3: connectS3(endpoint), name, prefix }
  const publicS3 = publicEndpoint === endpoint ? bucket.s3 : connectS3(publicEndpoint)

  return {
    put: (key, bytes, options = {}) =>
      withAbortReason(options.signal, putStream(bucket, key, bytes, options)),

    open: (key, range, { signal } = {}) =>
      withAbortReason(signal, openObject(bucket, key, range, signal)),

    size: (key) => objectSize(bucket, key),

    async delete(key) {
      await bucket.s3.deleteObject(objectOf(bucket, key), promptOptions())
    },

    list: () => listBlobs(bucket),

    // 0 aborts all uploads, even if the clock of the server is ahead.
    sweepUnfinished: (olderThanMs) =>
      sweepUnfinished(bucket, olderThanMs > 0 ? Date.now() - olderThanMs : Infinity),

    async probe({ signal } = {}) {
      const request = { Bucket: name, Prefix: prefix, MaxKeys: 1 }
      await withAbortReason(signal, bucket.s3.listObjectsV2(request, abortOptions(signal)))
    },

    compose: (key, parts, { signal } = {}) =>
      withAbortReason(signal, composeObject(bucket, key, parts, S3_LIMITS, signal)),

    async presign(key, { filename, contentType, expiresInSeconds }) {
      // Other characters would need quoting, which clients read differently.
      if (!/^[\w.-]+$/.test(filename)) throw new TypeError(`invalid file name: ${filename}`)
      const request = new GetObjectCommand({
        ...objectOf(bucket, key),
        ResponseContentDisposition: `attachment; filename=${filename}`,
        ResponseContentType: contentType,
      })
      // Loaded here because the threads that write segments do not need it.
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
      return getSignedUrl(publicS3, request, { expiresIn: expiresInSeconds })
    },
  }
}

/** Rejects with the reason of the abort instead of the SDK's AbortError. */
async function withAbortReason<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

async function* listBlobs({ s3, name, prefix }: Bucket): AsyncGenerator<StoredBlob> {
  // The delimiter excludes objects in folders, which are not blobs.
  const request = { Bucket: name, Prefix: prefix, Delimiter: '/' }
  for await (const { Contents = [] } of paginateListObjectsV2(
    { client: s3 },
    request,
    promptOptions(),
  )) {
    for (const { Key, Size, LastModified } of Contents) {
      const key = Key!.slice(prefix.length)
      if (isBlobKey(key)) yield { key, size: Size!, modifiedAt: LastModified!.getTime() }
    }
  }
}

/** Aborts the uploads of blobs that received nothing since `before`, and returns their number. */
async function sweepUnfinished(bucket: Bucket, before: number): Promise<number> {
  let swept = 0
  for await (const { Key, UploadId, Initiated } of listUploads(bucket)) {
    if (!isBlobKey(Key!.slice(bucket.prefix.length))) continue
    const upload = { Bucket: bucket.name, Key: Key!, UploadId: UploadId! }
    if ((await lastChange(bucket, upload, Initiated!)) > before) continue
    await bucket.s3.abortMultipartUpload(upload).catch(ignoreNoSuchUpload)
    swept += 1
  }
  return swept
}

/** A running put keeps sending parts, so its newest part is recent even if the upload began long ago. */
async function lastChange(bucket: Bucket, upload: Upload, startedAt: Date): Promise<number> {
  let newest = startedAt.getTime()
  try {
    for await (const { LastModified } of listParts(bucket, upload))
      newest = Math.max(newest, LastModified!.getTime())
  } catch (error) {
    ignoreNoSuchUpload(error)
  }
  return newest
}

async function* listUploads({ s3, name, prefix }: Bucket): AsyncGenerator<MultipartUpload> {
  const request = { Bucket: name, Prefix: prefix }
  let page = await s3.listMultipartUploads(request)
  yield* page.Uploads ?? []
  while (page.IsTruncated) {
    const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page
    page = await s3.listMultipartUploads({ ...request, KeyMarker, UploadIdMarker })
    yield* page.Uploads ?? []
  }
}

/** The SDK's paginator follows the next marker, which some servers send with the last page as well. */
async function* listParts({ s3 }: Bucket, upload: Upload): AsyncGenerator<Part> {
  let page = await s3.listParts(upload)
  yield* page.Parts ?? []
  while (page.IsTruncated) {
    page = await s3.listParts({ ...upload, PartNumberMarker: page.NextPartNumberMarker })
    yield* page.Parts ?? []
  }
}

function ignoreNoSuchUpload(error: unknown): void {
  if (!isS3Error(error, 'NoSuchUpload')) throw error
}
