import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { PREVIEW } from '../test/support/service.ts'
import { CLIENT } from './cores.ts'
import type { CrowdAnswers, CrowdOrder } from './crowd-client.ts'
import type { Crowd } from './crowd-seed.ts'

const CLIENT_MODULE = new URL('crowd-client.ts', import.meta.url).pathname
export const CONNECTIONS = 64
export const HEADERS = { accept: PREVIEW, 'user-agent': 'bench' }

type Asked = CrowdOrder['asked']

export interface CrowdRead {
  name: string
  /** Every request there is, each with a token of its own account. */
  asked: Asked
  /** Each is asked once only, so that it is the first to ask for what it asks. */
  isOnce: boolean
  /** What share of the limit is aimed at. */
  aim: number
}

export function readsOf({ ofTen, ofThirty, cold }: Crowd): CrowdRead[] {
  const read = (name: string, migrations: Crowd['cold'], rest: string, aim: number): CrowdRead => ({
    name,
    asked: migrations.map(({ id, authorization }) => ({
      path: `/user/migrations/${id}${rest}`,
      authorization,
    })),
    isOnce: migrations === cold,
    aim,
  })
  return [
    read('status, 10 repositories', ofTen, '', 0.3),
    read('list, page of 30', ofThirty, '/repositories', 0.4),
    read('status, exclude=repositories', ofTen, '?exclude=repositories', 0.3),
    read('status, 10 never asked for', cold, '', 0.1),
  ]
}

interface Ask {
  url: string
  asked: Asked
  seconds?: number
  headers?: Record<string, string>
}

/** Answers a second. Anything but an answer throws. */
export async function askAsCrowd({ url, asked, seconds, headers = HEADERS }: Ask): Promise<number> {
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
  const answered = JSON.parse(told) as CrowdAnswers
  return answered.answers / answered.seconds
}
