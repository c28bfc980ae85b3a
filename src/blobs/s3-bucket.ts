import { S3 } from '@aws-sdk/client-s3'
import { BlobMissing } from './blob-store.ts'

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

/** Many servers give a refusal a name and no message. */
function explained(error: unknown, commandName: string | undefined): unknown {
  if (!(error instanceof Error) || !('$metadata' in error)) return error
  const { httpStatusCode } = error.$metadata as { httpStatusCode?: number }
  if (error.message === '' || error.message === 'UnknownError') error.message = error.name
  if (httpStatusCode) error.message = `${commandName}: ${error.message} (${httpStatusCode})`
  return error
}

export const isRefusal = (error: unknown, ...names: string[]): boolean =>
  error instanceof Error && names.includes(error.name)

export function asMissing(key: string): (error: unknown) => never {
  return (error) => {
    throw isRefusal(error, 'NoSuchKey', 'NotFound') ? new BlobMissing(key, { cause: error }) : error
  }
}
