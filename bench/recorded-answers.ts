import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Recorded } from './bare-server.ts'

/** What every server writes anew and by itself. */
const OWN = /^(date|connection|keep-alive)$/i

/** One answer to the letter: its headers as they were written, and all its bytes. */
export async function record(url: string, headers: Record<string, string>): Promise<Recorded> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).once('error', reject)
  })
  const body = await buffer(answer)
  const pairs = Array.from({ length: answer.rawHeaders.length / 2 }, (_, at) => [
    answer.rawHeaders[2 * at]!,
    answer.rawHeaders[2 * at + 1]!,
  ]) as [string, string][]
  return {
    status: answer.statusCode!,
    headers: pairs.filter(([name]) => !OWN.test(name)),
    body: body.toString('base64'),
  }
}
