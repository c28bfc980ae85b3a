import { join } from 'node:path'
import { findSigningKey } from '../../db/survey.ts'
import { PROBED_TEXT, probeAddress } from '../../service/probe-address.ts'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, errorText, passed, warning } from './check-result.ts'

const TIMEOUT_MS = 10_000
const RANGE = { start: 2, end: 7 }
/** How soon after the first the last event comes where something has kept both; the service waits far longer. */
const TOGETHER_MS = 1000

/** What stands between the service that runs here and its public address. */
export async function* checkProxy(config: Config): AsyncGenerator<CheckResult> {
  const { baseUrl, listen } = config
  const { hostname, port } = new URL(baseUrl)
  const isDirect = hostname.replace(/^\[|\]$/g, '') === listen.host && Number(port) === listen.port
  if (config.said.baseUrl === undefined || isDirect) return
  const database = { sqlite: join(config.data, 'godwit.sqlite'), postgres: config.databaseUrl }
  const key = await findSigningKey(database)
  if (!key) return
  let findings: CheckResult[]
  try {
    findings = [...(await askForRange(baseUrl, key))]
    if (findings.length === 0) findings = await askForStream(baseUrl, key)
  } catch (error) {
    const why = errorText((error as Error).cause ?? error)
    const advice = 'check the proxy, its certificate and the DNS name; clients use this address'
    findings = [warning('proxy', `${baseUrl} cannot be reached from here: ${why}`, advice)]
  }
  if (findings.length > 0) yield* findings
  else yield passed('proxy', `${baseUrl} leads here; streams, ranges and addresses arrive`)
}

async function askForRange(baseUrl: string, key: Buffer): Promise<CheckResult[]> {
  const answer = await fetch(probeAddress(baseUrl, key, 'range'), {
    headers: { range: `bytes=${RANGE.start}-${RANGE.end - 1}` },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await answer.text()
  if (answer.status === 206 && text === PROBED_TEXT.slice(RANGE.start, RANGE.end)) return []
  if (answer.status === 200 && text === PROBED_TEXT) {
    const advice = 'let the proxy pass on the headers range and if-range, and switch off its cache'
    const found = `${baseUrl} does not pass on ranges: interrupted downloads start again`
    return [warning('proxy', found, advice), ...(await askForStream(baseUrl, key))]
  }
  const advice = 'let the proxy forward every path below --base-url to the address of --listen'
  const found = `${baseUrl} answers ${answer.status}, and not as the service that runs here`
  return [warning('proxy', found, advice)]
}

interface Seen {
  peer: string
  forwarded_for: string | null
  is_trusted: boolean
}

async function askForStream(baseUrl: string, key: Buffer): Promise<CheckResult[]> {
  const stopping = new AbortController()
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(TIMEOUT_MS)])
  const answer = await fetch(probeAddress(baseUrl, key, 'stream'), {
    headers: { accept: 'text/event-stream' },
    signal,
  })
  try {
    const { seen, isBuffered } = await readStream(answer)
    return [...(isBuffered ? [buffered(baseUrl)] : []), ...judgeForwarding(seen)]
  } finally {
    stopping.abort()
  }
}

/** The first event, and whether the last one came with it. */
async function readStream(answer: Response): Promise<{ seen: Seen; isBuffered: boolean }> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('\n\n')) {
    const { value, done } = await reader.read()
    if (done) throw new Error('its answer to a stream ended early')
    text += value
  }
  const late = Symbol('late')
  const tooLate = new Promise<typeof late>((resolve) => setTimeout(resolve, TOGETHER_MS, late))
  while (!text.includes('event: end')) {
    // Left behind when the stream is given up.
    const next = reader.read().catch(() => ({ done: true as const, value: undefined }))
    const got = await Promise.race([next, tooLate])
    if (got === late) break
    text += got.value ?? ''
    if (got.done) break
  }
  const seen = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}') as Seen
  return { seen, isBuffered: text.includes('event: end') }
}

const buffered = (baseUrl: string): CheckResult =>
  warning(
    'proxy',
    `${baseUrl} holds streams back until they end: nobody can follow a migration`,
    'switch off buffering in the proxy (nginx: proxy_buffering off)',
  )

function judgeForwarding({ peer, forwarded_for: forwarded, is_trusted: isTrusted }: Seen) {
  if (forwarded === null)
    return [
      warning(
        'trusted-proxies',
        `the proxy at ${peer} does not send x-forwarded-for: every request seems to come from it`,
        'let the proxy send x-forwarded-for with the address of the client',
      ),
    ]
  if (isTrusted) return []
  const advice = `add ${peer} to --trusted-proxies, and start the service again`
  return [warning('trusted-proxies', `the proxy at ${peer} is not trusted`, advice)]
}
