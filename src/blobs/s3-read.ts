import { addAbortSignal, Readable } from 'node:stream'
import { assertRange, type ByteRange } from './blob-store.ts'
import { asMissing, type Bucket, isClientError } from './s3-bucket.ts'
import { abortedBy } from './s3-multipart.ts'

export async function sizeOf({ s3, name, prefix }: Bucket, key: string): Promise<number> {
  const found = await s3.headObject({ Bucket: name, Key: prefix + key }).catch(asMissing(key))
  return found.ContentLength!
}

export async function openObject(
  bucket: Bucket,
  key: string,
  range: ByteRange | undefined,
  signal: AbortSignal | undefined,
): Promise<Readable> {
  // A range header takes the last byte, so it has no way to say "none".
  if (range && !(range.start >= 0 && range.start < range.end)) {
    assertRange(key, await sizeOf(bucket, key), range)
    return Readable.from([])
  }
  const { s3, name, prefix } = bucket
  const object = { Bucket: name, Key: prefix + key }
  const asked = range ? { ...object, Range: `bytes=${range.start}-${range.end - 1}` } : object
  const { Body, ContentRange } = await s3
    .getObject(asked, abortedBy(signal))
    .catch(asOutside(key, range))
    .catch(asMissing(key))
  const stream = Body as Readable
  try {
    // A range that begins within the object and ends beyond it is answered with what there is.
    if (range) assertRange(key, totalOf(ContentRange), range)
  } catch (error) {
    stream.destroy()
    throw error
  }
  return signal ? addAbortSignal(signal, stream) : stream
}

function asOutside(key: string, range: ByteRange | undefined): (error: unknown) => never {
  return (error) => {
    if (!range || !isClientError(error, 'InvalidRange')) throw error
    throw new RangeError(`blob ${key} has no range ${range.start} to ${range.end}`, {
      cause: error,
    })
  }
}

/** Of `bytes 0-4/11`, the 11; a server that left the range out, and sends all, would be found out here. */
const totalOf = (contentRange: string | undefined): number =>
  Number(/\/(\d+)$/.exec(contentRange ?? '')?.[1])
