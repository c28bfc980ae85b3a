import assert from 'node:assert/strict'
import { until } from './wait-until.ts'

export type EndState = 'exported' | 'failed'

export interface EndedMigration {
  state: EndState
  archive_url?: string
}

/** A server with its API and its log. */
interface Server {
  call(token: string, path: string): Promise<Response>
  log(): string
}

/**
 * Polls the status until the migration has ended. If it ended in another state than expected, the assertion
 * shows the migration's report. `id` is an id of the token's account, or a path.
 */
export async function untilEnded(
  server: Server,
  token: string,
  id: unknown,
  expected?: EndState,
): Promise<EndedMigration> {
  const path = String(id).startsWith('/') ? String(id) : `/user/migrations/${id}`
  let last = 'no response yet'
  const ended = await until(
    () => `migration ${id} has ended: ${last}\n${recentWarnings(server)}`,
    async () => {
      last = await (await server.call(token, `${path}?exclude=repositories`)).text()
      const seen = JSON.parse(last) as EndedMigration
      return (seen.state === 'exported' || seen.state === 'failed') && seen
    },
  )
  if (expected === undefined || ended.state === expected) return ended
  const report = await (await server.call(token, `${path}/report`)).text()
  assert.fail(
    `migration ${id} is ${ended.state}, not ${expected}: ${report}\n${recentWarnings(server)}`,
  )
}

/** Returns the last log lines of level warning or higher. */
function recentWarnings({ log }: Server): string {
  const lines = log()
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line))
  return lines.slice(-20).join('\n')
}
