import assert from 'node:assert/strict'
import { until } from './wait-until.ts'

export type EndState = 'exported' | 'failed'

export interface EndedMigration {
  state: EndState
  archive_url?: string
}

/** A server that can be asked as somebody, and what its processes have logged. */
interface Asked {
  call(token: string, path: string): Promise<Response>
  log(): string
}

/**
 * Asks for the status until the migration has ended. Where an end is expected and the other one came, the test fails with
 * the migration's own reasons. It is one of the asker's by its id, or any by its path.
 */
export async function untilEnded(
  server: Asked,
  token: string,
  id: unknown,
  expected?: EndState,
): Promise<EndedMigration> {
  const path = String(id).startsWith('/') ? String(id) : `/user/migrations/${id}`
  let last = 'not asked for'
  const ended = await until(
    () => `migration ${id} has ended: ${last}\n${errors(server)}`,
    async () => {
      last = await (await server.call(token, `${path}?exclude=repositories`)).text()
      const seen = JSON.parse(last) as EndedMigration
      return (seen.state === 'exported' || seen.state === 'failed') && seen
    },
  )
  if (expected === undefined || ended.state === expected) return ended
  const report = await (await server.call(token, `${path}/report`)).text()
  assert.fail(`migration ${id} is ${ended.state}, not ${expected}: ${report}\n${errors(server)}`)
}

/** What was logged as a warning or worse, the last of it. */
function errors({ log }: Asked): string {
  const lines = log()
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line))
  return lines.slice(-20).join('\n')
}
