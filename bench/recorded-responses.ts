import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Recorded } from './bare-server.ts'

/** Headers that every server writes itself. */
const OWN = /^(date|connection|keep-alive)$/i

/** Records one response: its headers as written, and its body. */
export async function record(url: string, headers: Record<string, string>): Promise<Recorded> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).once('error', reject)
  })
  const body = await buffer(response)
  const pairs = Array.from({ length: response.rawHeaders.length / 2 }, (_, at) => [
    response.rawHeaders[2 * at]!,
    response.rawHeaders[2 * at + 1]!,
  ]) as [string, string][]
  return {
    status: response.statusCode!,
    headers: pairs.filter(([name]) => !OWN.test(name)),
    body: body.toString('base64'),
  }
}
