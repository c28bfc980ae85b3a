import { addAbortSignal, Readable } from 'node:stream'
import { S3 } from '@aws-sdk/client-s3'
import type { ByteRange } from '@godwit/lib/bytes'
import { codeOf } from '@godwit/lib/errno'
import { UserError } from '@godwit/lib/user-error'
import { assertBlobKey, assertRange, BlobNotFound, BlobsUnavailable } from './blob-store.ts'

/** Blobs are the objects of a bucket whose names begin with the prefix. */
export interface Bucket {
  s3: S3
  name: string
  /** Empty, or ends in a slash. */
  prefix: string
}

/** The server sends nothing while it copies a gigabyte. After five minutes of silence it is considered unavailable. */
const SOCKET_TIMEOUT_MS = 5 * 60_000
/** For requests without a body, which are answered in a few seconds. Their answer is lost if a proxy or the network fails. */
const RESPONSE_TIMEOUT_MS = 60_000
const CONNECT_TIMEOUT_MS = 10_000
/** Enough for exports even while many downloads are stalled by their clients. */
const MAX_SOCKETS = 512

/** The SDK finds region and credentials itself: in the environment, a profile or the instance metadata. */
export function connectS3(endpoint: string | undefined): S3 {
  const agent = { keepAlive: true, maxSockets: MAX_SOCKETS }
  const s3 = new S3({
    ...(endpoint && { endpoint, forcePathStyle: true }),
    // By default the SDK sends streams in an encoding (aws-chunked) that many servers do not support.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
      // Otherwise a `requestTimeout` is only logged.
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
  s3.middlewareStack.add(
    (next, { commandName }) =>
      async (args) =>
        next(args).catch((error: unknown) => {
          throw explainError(error, commandName, args.input)
        }),
    { step: 'initialize', name: 'explainErrors' },
  )
  return s3
}

/** Adds the command and the status to the message, which many servers leave empty, and converts outages to BlobsUnavailable. */
function explainError(error: unknown, commandName: string | undefined, input: object): unknown {
  if (!(error instanceof Error)) return error
  if (error.message === 'Region is missing') return new UserError(NO_REGION, { cause: error })
  const status = statusOf(error)
  if (isS3Error(error, 'NoSuchBucket') && 'Bucket' in input)
    error.message = `the bucket ${input.Bucket} does not exist`
  if (error.message === '' || error.message === 'UnknownError') error.message = error.name
  if (status) error.message = `${commandName}: ${error.message} (${status})`
  if (!isOutage(error, status)) return error
  return new BlobsUnavailable(status ? error.message : `${commandName}: ${error.message}`, {
    cause: error,
  })
}

const NO_REGION =
  'the bucket (--blobs) has no region: set AWS_REGION, and its credentials, in the environment or in the file `environment` beside the configuration file, which this user must be able to read'

const statusOf = (error: Error): number | undefined =>
  '$metadata' in error ? (error.$metadata as { httpStatusCode?: number }).httpStatusCode : undefined

/** Node's error codes of a connection that failed. */
const CONNECTION_ERROR =
  /^(ECONN|EPIPE$|ENOTFOUND$|EAI_AGAIN$|E(NET|HOST)(UNREACH|DOWN)$|ETIMEDOUT$)/
const TOO_MANY_REQUESTS = 429

function isOutage(error: Error, status: number | undefined): boolean {
  if (status) return status >= 500 || status === TOO_MANY_REQUESTS
  return error.name === 'TimeoutError' || CONNECTION_ERROR.test(codeOf(error) ?? '')
}

export const isS3Error = (error: unknown, ...names: string[]): boolean =>
  error instanceof Error && names.includes(error.name)

/** Translates the S3 error of a missing object to BlobNotFound. */
export function asBlobNotFound(key: string): (error: unknown) => never {
  return (error) => {
    throw isS3Error(error, 'NoSuchKey', 'NotFound')
      ? new BlobNotFound(key, { cause: error })
      : error
  }
}

export const abortOptions = (abortSignal: AbortSignal | undefined) =>
  abortSignal ? { abortSignal } : {}

/** The options of a request that the server answers at once. The SDK sends it again if the answer does not begin in time. */
export const promptOptions = (signal?: AbortSignal) => ({
  requestTimeout: RESPONSE_TIMEOUT_MS,
  ...abortOptions(signal),
})

/** Returns the parameters of a request that name the object of a blob. */
export function objectOf({ name, prefix }: Bucket, key: string) {
  assertBlobKey(key)
  return { Bucket: name, Key: prefix + key }
}

export async function objectSize(bucket: Bucket, key: string): Promise<number> {
  const found = await bucket.s3
    .headObject(objectOf(bucket, key), promptOptions())
    .catch(asBlobNotFound(key))
  return found.ContentLength!
}

export async function openObject(
  bucket: Bucket,
  key: string,
  range: ByteRange | undefined,
  signal: AbortSignal | undefined,
): Promise<Readable> {
  // A Range header names the last byte, so it cannot express an empty range.
  if (range && !(range.start >= 0 && range.start < range.end)) {
    assertRange(key, await objectSize(bucket, key), range)
    return Readable.from([])
  }
  const object = objectOf(bucket, key)
  const request = range ? { ...object, Range: `bytes=${range.start}-${range.end - 1}` } : object
  const { Body, ContentRange } = await bucket.s3
    .getObject(request, promptOptions(signal))
    .catch(asRangeError(key, range))
    .catch(asBlobNotFound(key))
  const stream = Body as Readable
  try {
    // If a range ends beyond the object, the server sends the bytes that exist.
    if (range) assertRange(key, totalOf(ContentRange), range)
  } catch (error) {
    stream.destroy()
    throw error
  }
  return signal ? addAbortSignal(signal, stream) : stream
}

function asRangeError(key: string, range: ByteRange | undefined): (error: unknown) => never {
  return (error) => {
    if (!range || !isS3Error(error, 'InvalidRange')) throw error
    throw new RangeError(`blob ${key} has no range ${range.start} to ${range.end}`, {
      cause: error,
    })
  }
}

/** Returns 11 for `bytes 0-4/11`, and NaN for a server that ignored the range and sends everything. */
const totalOf = (contentRange: string | undefined): number =>
  Number(/\/(\d+)$/.exec(contentRange ?? '')?.[1])
