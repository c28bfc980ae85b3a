import type { CompletedPart } from '@aws-sdk/client-s3'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import { BlobExists } from './blob-store.ts'
import { type Bucket, isClientError } from './s3-bucket.ts'

/** What names a multipart upload to the server. */
export interface Upload {
  Bucket: string
  Key: string
  UploadId: string
}

interface Assembly<Part> {
  parts: Iterable<Part> | AsyncIterable<Part>
  /** Sends the part and answers its entity tag. */
  send(part: Part, to: Upload & { PartNumber: number }, signal: AbortSignal): Promise<string>
  lanes: number
  signal: AbortSignal | undefined
}

/** An object of parts, some on their way at once. It shows when all are there; when one fails nothing is left of any. */
export async function assemble<Part>(
  bucket: Bucket,
  key: string,
  { parts, send, lanes, signal }: Assembly<Part>,
): Promise<void> {
  const upload = await begin(bucket, key, signal)
  try {
    const sent: CompletedPart[] = []
    await mapConcurrent(numbered(parts), { lanes, signal }, async ({ part, PartNumber }, stop) => {
      sent.push({ PartNumber, ETag: await send(part, { ...upload, PartNumber }, stop) })
    })
    await complete(bucket, key, upload, sent)
  } catch (error) {
    // Where this fails as well, the sweep comes by.
    await bucket.s3.abortMultipartUpload(upload).catch(() => {})
    throw error
  }
}

async function begin({ s3, name, prefix }: Bucket, key: string, signal: AbortSignal | undefined) {
  const object = { Bucket: name, Key: prefix + key }
  const { UploadId } = await s3.createMultipartUpload(object, abortedBy(signal))
  return { ...object, UploadId: UploadId! }
}

async function complete({ s3 }: Bucket, key: string, upload: Upload, sent: CompletedPart[]) {
  const { Bucket, Key } = upload
  // Not every server minds the condition on completion; for keys of one attempt each, asking just before will do there.
  const isTaken = await s3.headObject({ Bucket, Key }).then(
    () => true,
    (error: unknown) => {
      if (isClientError(error, 'NotFound', 'NoSuchKey')) return false
      throw error
    },
  )
  if (isTaken) throw new BlobExists(key)
  const Parts = sent.sort((a, b) => a.PartNumber! - b.PartNumber!)
  await s3
    .completeMultipartUpload({ ...upload, MultipartUpload: { Parts }, IfNoneMatch: '*' })
    .catch(asBlobExists(key))
}

export function asBlobExists(key: string): (error: unknown) => never {
  return (error) => {
    throw isClientError(error, 'PreconditionFailed') ? new BlobExists(key, { cause: error }) : error
  }
}

export const abortedBy = (abortSignal: AbortSignal | undefined) =>
  abortSignal ? { abortSignal } : {}

async function* numbered<Part>(parts: Iterable<Part> | AsyncIterable<Part>) {
  let PartNumber = 0
  for await (const part of parts) {
    PartNumber += 1
    yield { part, PartNumber }
  }
}
