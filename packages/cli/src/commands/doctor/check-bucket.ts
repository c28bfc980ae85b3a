import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { type BlobStore, type ComposingStore, isComposing } from '@godwit/server/blobs/blob-store'
import { blobsOf, openBlobs } from '@godwit/server/service/data-paths'
import type { ServiceConfig } from '../service-settings.ts'
import { clockResult } from './check-database.ts'
import { type CheckResult, errorText, failure, passed } from './check-result.ts'

const PROBE = 'a probe of godwit doctor'
const RANGE = { start: 2, end: 7 }

/** Puts, reads, lists and deletes a small object, as exports and downloads do. */
export async function* checkBucket(config: ServiceConfig): AsyncGenerator<CheckResult> {
  const { blobs: address, s3Endpoint } = config
  if (address === undefined) return
  // The origin has no credentials.
  const origin = s3Endpoint && (URL.parse(s3Endpoint)?.origin ?? 'AWS_ENDPOINT_URL')
  const where = `${address}${origin ? ` at ${origin}` : ''}`
  const key = `doctor-${randomBytes(8).toString('hex')}`
  let put = false
  try {
    const blobs = await openBlobs(blobsOf(config))
    try {
      await blobs.put(key, [Buffer.from(PROBE)])
      put = true
      await read(blobs, key)
      yield passed('bucket', `${where}: put, ranged get and list work`)
      if (isComposing(blobs)) yield* checkLink(config, blobs, key)
    } finally {
      if (put) await blobs.delete(key)
    }
  } catch (error) {
    const other = 'check AWS_ENDPOINT_URL, AWS_REGION, --blobs and the network'
    const advice = ADVICE[(error as Error).name] ?? other
    yield failure('bucket', `${where}: ${errorText(error)}`, advice)
  }
}

async function read(blobs: BlobStore, key: string): Promise<void> {
  const bytes = await buffer(await blobs.open(key, RANGE))
  if (bytes.toString() !== PROBE.slice(RANGE.start, RANGE.end))
    throw new Error('a ranged get returned other bytes than were put')
  for await (const blob of blobs.list()) if (blob.key === key) break
  // This deletes nothing, and fails if unfinished uploads cannot be listed.
  await blobs.sweepUnfinished(Number.MAX_SAFE_INTEGER)
}

/** Applies to the response with its body. */
const TIMEOUT_MS = 10_000

async function* checkLink(config: ServiceConfig, blobs: ComposingStore, key: string) {
  const link = await blobs.presign(key, {
    filename: 'probe',
    contentType: 'text/plain',
    expiresInSeconds: 60,
  })
  const { host } = new URL(link)
  const advice =
    'set --s3-public-endpoint to the address of the bucket that clients use, or use --downloads proxy'
  const sentAt = Date.now()
  let response: Response
  let roundTripMs: number
  let text: string
  try {
    const headers = { range: `bytes=${RANGE.start}-${RANGE.end - 1}` }
    response = await fetch(link, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
    roundTripMs = Date.now() - sentAt
    text = await response.text()
  } catch (error) {
    // The error itself may contain the link, which is a credential.
    const why = errorText((error as Error).cause ?? 'no response')
    yield linkResult(config, `${host} cannot be reached from here: ${why}`, advice)
    return
  }
  if (response.status !== 206 || text !== PROBE.slice(RANGE.start, RANGE.end))
    yield linkResult(config, `${host} returns status ${response.status} for a signed link`, advice)
  else yield passed('downloads', `by signed links at ${host}`)
  const date = Date.parse(response.headers.get('date') ?? '')
  // The header is rounded down to seconds.
  if (date) yield clockResult('clock of bucket', date + 500 - sentAt, roundTripMs + 500)
}

/** With --downloads proxy, clients do not use the links. */
const linkResult = ({ downloads }: ServiceConfig, found: string, advice: string): CheckResult =>
  downloads === 'proxy'
    ? passed('downloads', `through the API (${found})`)
    : failure('downloads', found, advice)

const ADVICE: Readonly<Record<string, string>> = {
  NoSuchBucket: 'create the bucket, or set another in --blobs',
  AccessDenied:
    'allow these credentials to get, put, delete and list objects, and to list and abort multipart uploads',
  InvalidAccessKeyId: 'fix AWS_ACCESS_KEY_ID',
  SignatureDoesNotMatch: 'fix AWS_SECRET_ACCESS_KEY and AWS_REGION',
  RequestTimeTooSkewed: 'set the clock: it differs too much from the clock of the bucket',
  QuotaExceeded: 'raise the quota of the bucket, or delete archives',
  CredentialsProviderError: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role',
}
