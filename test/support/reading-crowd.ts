import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { PREVIEW } from './service.ts'

export interface CrowdOptions {
  url: string
  token: string
  connections: number
  /** Requests that each connection makes in a second, if the answers come soon enough. */
  perSecond: number
  paths: readonly string[]
  random: () => number
  signal: AbortSignal
}

export interface CrowdReport {
  /** Answers by status, or by what went wrong. */
  answers: Map<string, number>
  /** Milliseconds, sorted, of the first path. */
  latencies: number[]
}

/** So many clients, each on a connection of its own, that read what they like, once at least, until they are told to stop. */
export async function readingCrowd(options: CrowdOptions): Promise<CrowdReport> {
  const { connections, perSecond, paths, random, signal } = options
  const report: CrowdReport = { answers: new Map(), latencies: [] }
  const count = (what: string) => report.answers.set(what, (report.answers.get(what) ?? 0) + 1)

  async function client(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await pause((random() * 1000) / perSecond)
    do {
      const path = paths[Math.floor(random() * paths.length)]!
      const began = performance.now()
      count(await read(options, agent, path).catch((error: Error) => error.message))
      const took = performance.now() - began
      if (path === paths[0]) report.latencies.push(took)
      await pause(Math.max(0, 1000 / perSecond - took))
    } while (!signal.aborted)
    agent.destroy()
  }

  await Promise.all(Array.from({ length: connections }, client))
  report.latencies.sort((a, b) => a - b)
  return report
}

function read({ url, token }: CrowdOptions, agent: Agent, path: string): Promise<string> {
  const headers = { accept: PREVIEW, authorization: `bearer ${token}`, 'user-agent': 'crowd' }
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { agent, headers }, (answer) => {
      answer.on('error', reject)
      answer.on('end', () => resolve(String(answer.statusCode)))
      answer.resume()
    })
    asked.on('error', reject)
    asked.end()
  })
}

export const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
