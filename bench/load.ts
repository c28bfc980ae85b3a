import { CLIENT } from './cores.ts'
import { has, run } from './measure.ts'

const CONNECTIONS = 16
const AUTOCANNON = new URL('peers/node_modules/.bin/autocannon', import.meta.url).pathname

export interface Load {
  url: string
  headers: Record<string, string>
  seconds: number
}

/** wrk where it is: it asks for less of its core than any server it asks, so that what is measured is the server. */
export const LOAD_TOOL = (await has('wrk')) ? 'wrk' : 'autocannon'

/** Answers a second, to 16 clients that ask again as soon as they have been answered. Anything but an answer throws. */
export function requestsPerSecond(load: Load): Promise<number> {
  return LOAD_TOOL === 'wrk' ? byWrk(load) : byAutocannon(load)
}

async function byWrk({ url, headers, seconds }: Load): Promise<number> {
  const told = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout', '30s']
  const sent = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const text = await asClient('wrk', [...told, ...sent, url])
  const trouble = /Socket errors.*|Non-2xx or 3xx responses.*/.exec(text)?.[0]
  if (trouble) throw new Error(`${url}: ${trouble}`)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)![1])
}

async function byAutocannon({ url, headers, seconds }: Load): Promise<number> {
  const told = ['--json', '-c', String(CONNECTIONS), '-d', String(seconds), '-t', '30']
  const sent = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const text = await asClient(process.execPath, [AUTOCANNON, ...told, ...sent, url])
  const { requests, errors, '4xx': refused, '5xx': failed } = JSON.parse(text)
  if (errors + refused + failed > 0) throw new Error(`${url}: ${errors}, ${refused}, ${failed}`)
  return requests.average
}

function asClient(program: string, args: readonly string[]): Promise<string> {
  const [first, ...rest] = [...CLIENT, program, ...args]
  return run(first!, rest)
}
