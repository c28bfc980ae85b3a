import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { mapConcurrent } from '../packages/lib/src/turns.ts'
import { PREVIEW } from '../test/support/service.ts'
import { CLIENT } from './cores.ts'
import type { CrowdInput, CrowdOutput } from './crowd-client.ts'
import type { Crowd } from './crowd-seed.ts'
import { record } from './recorded-responses.ts'

const CLIENT_MODULE = new URL('crowd-client.ts', import.meta.url).pathname
export const CONNECTIONS = 64
export const HEADERS = { accept: PREVIEW, 'user-agent': 'bench' }

export type CrowdRequests = CrowdInput['requests']

export interface CrowdRead {
  name: string
  /** All requests, each with the token of its own account. */
  requests: CrowdRequests
  /** Whether each request is sent only once, so that no response is cached. */
  isOnce: boolean
  /** Whether the clients send the ETag of a response that they already have. */
  isKnown: boolean
  /** The target, as a share of the limit. */
  aim: number | undefined
}

export function readsOf({ ofTen, ofThirty, cold }: Crowd): CrowdRead[] {
  const read = (
    name: string,
    migrations: Crowd['cold'],
    rest: string,
    aim?: number,
    isKnown = false,
  ): CrowdRead => ({
    name,
    requests: migrations.map(({ id, authorization }) => ({
      path: `/user/migrations/${id}${rest}`,
      authorization,
    })),
    isOnce: migrations === cold,
    isKnown,
    aim,
  })
  return [
    read('status, 10 repositories', ofTen, '', 0.3),
    read('list, page of 30', ofThirty, '/repositories', 0.4),
    read('status, exclude=repositories', ofTen, '?exclude=repositories', 0.3),
    read('status, 10 never requested', cold, '', 0.1),
    read('status, 10, not modified', ofTen, '', undefined, true),
  ]
}

interface Ask {
  url: string
  requests: CrowdRequests
  seconds?: number
  headers?: Record<string, string>
}

const ETAGS_AT_ONCE = 16

/** Returns the same requests with the ETag of each response. */
export async function withEtags(url: string, requests: CrowdRequests): Promise<CrowdRequests> {
  const known: CrowdRequests = []
  await mapConcurrent(
    requests.entries(),
    { concurrency: ETAGS_AT_ONCE },
    async ([at, { path, authorization }]) => {
      const { headers } = await record(url + path, { ...HEADERS, authorization })
      const [, etag] = headers.find(([name]) => name.toLowerCase() === 'etag')!
      known[at] = { path, authorization, 'if-none-match': etag }
    },
  )
  return known
}

/** Throws for any status but 2xx and 304. */
export async function sendAsCrowd({
  url,
  requests,
  seconds,
  headers = HEADERS,
}: Ask): Promise<CrowdOutput> {
  const input: CrowdInput = {
    url,
    requests,
    headers,
    connections: CONNECTIONS,
    ...(seconds && { seconds }),
  }
  const [program, ...args] = [...CLIENT, process.execPath, CLIENT_MODULE]
  const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(input))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error(`${url}: not every request was answered`)
  return JSON.parse(output) as CrowdOutput
}
