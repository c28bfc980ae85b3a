import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { mapConcurrent } from '../src/lib/map-concurrent.ts'
import { PREVIEW } from '../test/support/service.ts'
import { CLIENT } from './cores.ts'
import type { CrowdAnswers, CrowdOrder } from './crowd-client.ts'
import type { Crowd } from './crowd-seed.ts'
import { record } from './recorded-answers.ts'

const CLIENT_MODULE = new URL('crowd-client.ts', import.meta.url).pathname
export const CONNECTIONS = 64
export const HEADERS = { accept: PREVIEW, 'user-agent': 'bench' }

export type Asked = CrowdOrder['asked']

export interface CrowdRead {
  name: string
  /** Every request there is, each with a token of its own account. */
  asked: Asked
  /** Each is asked once only, so that it is the first to ask for what it asks. */
  isOnce: boolean
  /** Whoever asks has the answer already, and sends its ETag. */
  isKnown: boolean
  /** What share of the limit is aimed at. */
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
    asked: migrations.map(({ id, authorization }) => ({
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
    read('status, 10 never asked for', cold, '', 0.1),
    read('status, 10, not modified', ofTen, '', undefined, true),
  ]
}

interface Ask {
  url: string
  asked: Asked
  seconds?: number
  headers?: Record<string, string>
}

const ETAGS_AT_ONCE = 16

/** The same requests by those who have the answers. */
export async function withEtags(url: string, asked: Asked): Promise<Asked> {
  const known: Asked = []
  await mapConcurrent(
    asked.entries(),
    { lanes: ETAGS_AT_ONCE },
    async ([at, { path, authorization }]) => {
      const { headers } = await record(url + path, { ...HEADERS, authorization })
      const [, etag] = headers.find(([name]) => name.toLowerCase() === 'etag')!
      known[at] = { path, authorization, 'if-none-match': etag }
    },
  )
  return known
}

/** Anything but an answer throws. */
export async function askAsCrowd({
  url,
  asked,
  seconds,
  headers = HEADERS,
}: Ask): Promise<CrowdAnswers> {
  const order: CrowdOrder = {
    url,
    asked,
    headers,
    connections: CONNECTIONS,
    ...(seconds && { seconds }),
  }
  const [program, ...args] = [...CLIENT, process.execPath, CLIENT_MODULE]
  const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(order))
  const [told, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error(`${url}: not every request was answered`)
  return JSON.parse(told) as CrowdAnswers
}
