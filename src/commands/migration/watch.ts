import type {
  EndResponse,
  RepositoryProgressResponse,
  TotalsResponse,
} from '../../client/responses.ts'
import { formatBytes, formatDuration } from '../../lib/quantities.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { UserError } from '../../lib/user-error.ts'
import { type ClientCommands, type ClientContext, orgFlag, withClient } from '../client-command.ts'
import { printJson } from '../command-line.ts'
import { paintState, progressLine } from '../terminal.ts'
import { requireCompleteExport } from './partial-export.ts'

export function watchCommand({ addWithId }: ClientCommands): void {
  addWithId(
    'watch',
    'watch a migration until it has ended',
    'godwit migration watch 7 && godwit migration download 7',
  ).action(withClient((client, _options, id: number) => watchUntilEnd(client, id)))
}

/** Watches a migration until it has ended. Throws unless it is exported completely. */
export async function watchUntilEnd(client: ClientContext, id: number): Promise<void> {
  client.setStopMessage('stopped watching; the migration continues')
  const { end, totals } = await watch(client, id)
  client.setStopMessage(`stopped; migration ${id} is ${escapeForTerminal(end.state)}`)
  if (client.isJson) printJson(await client.api.show(id))
  if (end.state !== 'exported')
    throw new UserError(
      `migration ${id} is ${escapeForTerminal(end.state)}${describeReason(end)}; \`godwit migration report ${id}${orgFlag(client)}\` shows more (Godwit only)`,
    )
  await requireCompleteExport(client, id, totals && finalCounts(totals))
}

/** Omits the reason of a cancelled migration, which is only "cancelled". */
const describeReason = ({ state, reason }: EndResponse): string =>
  reason && reason !== state ? `: ${escapeForTerminal(reason)}` : ''

/** Totals are final once no repository remains. */
const finalCounts = ({ repositories: total, exported, skipped, remaining }: TotalsResponse) =>
  remaining === 0 ? { total, exported, skipped } : undefined

/** Shows the progress, and returns the end and the last totals, if the server sends any. */
async function watch({ api, signal }: ClientContext, id: number) {
  const { watchMigration } = await import('../../client/watch-migration.ts')
  using line = progressLine(process.stderr)
  const since = performance.now()
  const onError = (error: Error) => line.print(`${error.message}; trying again`)
  let state = ''
  let totals: TotalsResponse | undefined
  for await (const update of watchMigration(api, id, { signal, onError })) {
    if ('repository' in update) line.printPainted(formatRepositoryEnd(update.repository))
    if ('totals' in update) {
      totals = update.totals
      line.update(...formatTotals(totals))
    }
    const now = 'end' in update ? update.end.state : 'state' in update ? update.state : state
    if (now !== state) line.printPainted(`migration ${id} is ${formatState(now, totals)}`)
    else if ('state' in update) line.update(undefined, `${state} for ${elapsed(since)}`)
    state = now
    if ('end' in update) return { end: update.end, totals }
  }
  throw new Error('the watch ended before the migration')
}

/** Formats a state; `exported` and `partial` with the number of exported repositories. */
function formatState(state: string, totals: TotalsResponse | undefined): string {
  if (state !== 'exported' || !totals) return paintState(state, process.stderr)
  const { repositories, exported, skipped } = totals
  const counts = `${exported} of ${repositories} repositories`
  if (skipped === 0) return `${paintState(state, process.stderr)}: ${counts}`
  return `${paintState('partial', process.stderr)}: ${counts}, ${skipped} skipped`
}

function formatRepositoryEnd(repository: RepositoryProgressResponse): string {
  const { full_name, state, reused, bytes_done, reason } = repository
  const start = `${paintState(state, process.stderr)}: ${escapeForTerminal(full_name)}`
  if (reason) return `${start}: ${escapeForTerminal(reason)}`
  return `${start}, ${formatBytes(bytes_done)}${reused ? ', reused' : ''}`
}

function formatTotals(totals: TotalsResponse): [fraction: number, text: string] {
  const { repositories, remaining, skipped, bytes_done, bytes_expected } = totals
  const ended = repositories - remaining
  const fraction = bytes_expected ? bytes_done / bytes_expected : ended / Math.max(repositories, 1)
  const rate = totals.bytes_per_second ? `, ${formatBytes(totals.bytes_per_second)}/s` : ''
  const left =
    typeof totals.seconds_left !== 'number' ? '' : `, ${formatDuration(totals.seconds_left)} left`
  const skippedCount = skipped > 0 ? `, ${skipped} skipped` : ''
  return [
    fraction,
    `${ended - skipped}/${repositories} repositories${skippedCount}, ${formatBytes(bytes_done)}${rate}${left}`,
  ]
}

const elapsed = (since: number) => formatDuration((performance.now() - since) / 1000)
