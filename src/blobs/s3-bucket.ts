import { S3 } from '@aws-sdk/client-s3'
import { codeOf } from '../lib/errno.ts'
import { BlobNotFound, BlobsUnavailable } from './blob-store.ts'

/** A place for blobs: the objects of a bucket whose names begin with the prefix. */
export interface Bucket {
  s3: S3
  name: string
  /** Empty, or ends in a slash. */
  prefix: string
}

/** A copy of a gigabyte is silent until it is done; a server that is silent for longer is gone. */
const SILENCE_MS = 5 * 60_000
const CONNECT_MS = 10_000
/** Downloads that nobody reads on with must not starve exports. */
const SOCKETS = 512

/** Region, credentials and all else come from where the SDK looks for them: environment, profile, machine. */
export function connectS3(endpoint: string | undefined): S3 {
  const agent = { keepAlive: true, maxSockets: SOCKETS }
  const s3 = new S3({
    ...(endpoint && { endpoint, forcePathStyle: true }),
    // Otherwise streams are sent in a coding of its own that many servers do not know.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
  s3.middlewareStack.add(
    (next, { commandName }) =>
      async (args) =>
        next(args).catch((error: unknown) => {
          throw explained(error, commandName)
        }),
    { step: 'initialize', name: 'explainRefusals' },
  )
  return s3
}

/** Many servers give a refusal a name and no message; and one that cannot answer gives no refusal at all. */
function explained(error: unknown, commandName: string | undefined): unknown {
  if (!(error instanceof Error)) return error
  const { httpStatusCode: status } = statusOf(error)
  if (error.message === '' || error.message === 'UnknownError') error.message = error.name
  if (status) error.message = `${commandName}: ${error.message} (${status})`
  if (!isAway(error, status)) return error
  return new BlobsUnavailable(status ? error.message : `${commandName}: ${error.message}`, {
    cause: error,
  })
}

const statusOf = (error: Error): { httpStatusCode?: number } =>
  '$metadata' in error ? (error.$metadata as { httpStatusCode?: number }) : {}

/** On the way there, by Node's own codes and the SDK's name for its timeouts. */
const BROKEN_WAY = /^(ECONN|EPIPE$|ENOTFOUND$|EAI_AGAIN$|E(NET|HOST)(UNREACH|DOWN)$|ETIMEDOUT$)/
const TOO_MANY_REQUESTS = 429

function isAway(error: Error, status: number | undefined): boolean {
  if (status) return status >= 500 || status === TOO_MANY_REQUESTS
  return error.name === 'TimeoutError' || BROKEN_WAY.test(codeOf(error) ?? '')
}

export const isClientError = (error: unknown, ...names: string[]): boolean =>
  error instanceof Error && names.includes(error.name)

export function asMissing(key: string): (error: unknown) => never {
  return (error) => {
    throw isClientError(error, 'NoSuchKey', 'NotFound')
      ? new BlobNotFound(key, { cause: error })
      : error
  }
}
