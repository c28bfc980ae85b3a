import type { IncomingHttpHeaders } from 'node:http'
import { http } from '@godwit/lib/node-http'
import type { IsAddressAllowed } from '@godwit/lib/outgoing-requests/address-filter'
import type { Resolve } from '@godwit/lib/outgoing-requests/resolve-host'
import {
  OutgoingRequestFailed,
  type RequestRules,
  sendRequest,
} from '@godwit/lib/outgoing-requests/send-request'
import type { ReceivedResponse } from './delivery-store.ts'

export type WebhookRequest = { url: string; headers: Record<string, string>; body: string }

export interface SendDependencies {
  isAllowed: IsAddressAllowed
  resolve: Resolve
  /** Trusted certificates, if not those of the machine. */
  ca?: string
  /** For the whole request. */
  timeoutMs?: number
  /** For the name lookup and the connection. */
  connectTimeoutMs?: number
}

/** The result of one attempt. */
export type DeliveryOutcome = Awaited<ReturnType<typeof sendWebhook>>

const TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5000
/** A larger response is a failure. */
const MAX_BODY_BYTES = 256 * 1024
const STORED_BODY_BYTES = 4096
const MAX_STORED_HEADERS = 50
const MAX_STORED_HEADER_LENGTH = 500

/**
 * Sends a request once and returns the result; throws only if `signal` aborted it. `status` is `OK`, or the failure as shown to the owner
 * of the webhook; `statusCode` is 0 if there was no complete response. `response` has what arrived of it.
 */
export async function sendWebhook(
  request: WebhookRequest,
  {
    timeoutMs = TIMEOUT_MS,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
    ca,
    ...addresses
  }: SendDependencies,
  signal: AbortSignal,
) {
  const startedAt = performance.now()
  let response: ReceivedResponse | null = null
  const rules: RequestRules = {
    ...{ addresses, ca, alwaysVerifies: true, signal },
    ...{ timeoutMs, connectTimeoutMs, maxBodyBytes: MAX_BODY_BYTES },
  }
  const result = await sendRequest(
    { method: 'POST', ...request },
    rules,
    async ({ statusCode, headers, body }) => {
      response = { headers: storedHeaders(headers), body: '' }
      let stored = Buffer.alloc(0)
      for await (const chunk of body) {
        stored = Buffer.concat([stored, chunk.subarray(0, STORED_BODY_BYTES - stored.length)])
        response.body = stored.toString('utf8')
      }
      const isDelivered = statusCode >= 200 && statusCode < 300
      return { isDelivered, status: isDelivered ? 'OK' : describeStatus(statusCode), statusCode }
    },
  ).catch((error: unknown) => {
    if (!(error instanceof OutgoingRequestFailed)) throw error
    return { isDelivered: false, status: error.message, statusCode: 0 }
  })
  const durationMs = Math.round(performance.now() - startedAt)
  return { ...result, durationMs, response: response as ReceivedResponse | null }
}

function describeStatus(statusCode: number): string {
  const text = `${statusCode} ${http.STATUS_CODES[statusCode] ?? ''}`.trim()
  const isRedirect = statusCode >= 300 && statusCode < 400
  return isRedirect ? `${text}: redirects are not followed` : text
}

function storedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const stored = Object.entries(headers).slice(0, MAX_STORED_HEADERS)
  return Object.fromEntries(
    stored.map(([name, value]) => [name, String(value).slice(0, MAX_STORED_HEADER_LENGTH)]),
  )
}
