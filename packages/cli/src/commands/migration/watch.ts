import type {
  EndResponse,
  RepositoryProgressResponse,
  TotalsResponse,
} from '@godwit/contract/client/responses'
import type { MigrationUpdate } from '@godwit/contract/client/watch-migration'
import { describeMissing, isPartial, shortReason } from '@godwit/contract/schemas/describe-outcome'
import { formatBytes, formatDuration } from '@godwit/lib/quantities'
import { escapeForTerminal, oneLine } from '@godwit/lib/terminal-text'
import { UserError } from '@godwit/lib/user-error'
import { type ClientCommands, type ClientContext, withClient } from '../client-command.ts'
import { printJsonLine } from '../print.ts'
import { paint, paintState, progressLine } from '../terminal.ts'
import { requireCompleteExport } from './partial-export.ts'

type WatchOptions = { verbose?: boolean }

export function watchCommand({ addWithId }: ClientCommands): void {
  addWithId('watch', 'watch a migration until it has ended; --json prints a line for each change', [
    'godwit migration watch 7 && godwit migration download 7',
    'godwit migration watch 7 --json | jq -r "select(.event == \\"progress\\").percent"',
  ])
    .option('--verbose', "print git's own messages for repositories that cannot be exported")
    .action(
      withClient((client, options: WatchOptions, id: number) => watchUntilEnd(client, id, options)),
    )
}

/** Watches a migration until it has ended. Throws unless it is exported completely. */
export async function watchUntilEnd(client: ClientContext, id: number, options: WatchOptions = {}) {
  client.setStopMessage('stopped watching; the migration continues')
  const { end, totals } = await watch(client, id, options)
  const ended = `migration ${id} ${end.state === 'failed' ? '' : 'is '}${escapeForTerminal(end.state)}`
  client.setStopMessage(`stopped; ${ended}`)
  if (end.state !== 'exported')
    throw new UserError(
      `${ended}${describeReason(end, totals)}; \`godwit migration report ${id}${client.api.orgFlag}\` shows more (Godwit only)`,
    )
  if (process.stderr.isTTY && !client.json) await printNextSteps(client, id)
  await requireCompleteExport(client, id, totals && finalCounts(totals))
}

/** Omits reasons that were printed with their repositories, and that of a cancelled migration, which is only "cancelled". */
function describeReason({ state, reason }: EndResponse, totals: TotalsResponse | undefined) {
  const { failed, repositories } = totals ?? {}
  if (failed) return `: ${failed} of ${repositories} repositories could not be exported`
  return reason && reason !== state ? `: ${escapeForTerminal(oneLine(reason))}` : ''
}

/** Totals are final once no repository remains. */
const finalCounts = ({ repositories: total, remaining, ...counts }: TotalsResponse) =>
  remaining === 0 ? { total, ...counts } : undefined

async function printNextSteps(client: ClientContext, id: number): Promise<void> {
  // An outage now does not change the result of the watch.
  const file = await client.api.archiveName(id).catch(() => 'FILE')
  const steps = [
    `godwit migration download ${id}${client.api.orgFlag}`,
    `godwit verify ${file}`,
    `godwit restore ${file} --into DIR`,
    `godwit convert ${file} --to html --output site`,
  ]
  progressLine().print(['next:', ...steps.map((step) => `  ${step}`)].join('\n'))
}

/** Shows the progress, and returns the end and the last totals, if the server sends any. */
async function watch({ api, signal, json }: ClientContext, id: number, options: WatchOptions) {
  const { watchMigration } = await import('@godwit/contract/client/watch-migration')
  using line = progressLine()
  const since = performance.now()
  const onError = (error: Error) => line.print(`${error.message}; trying again`)
  let state = ''
  let totals: TotalsResponse | undefined
  for await (const update of watchMigration(api, id, { signal, onError })) {
    if ('totals' in update) totals = update.totals
    if (json) printJsonLine({ id, ...eventOf(update) })
    else show(update)
    if ('end' in update) return { end: update.end, totals }
  }
  throw new Error('the watch ended before the migration')

  function show(update: MigrationUpdate): void {
    if ('repository' in update) line.printPainted(formatRepositoryEnd(update.repository, options))
    if ('totals' in update) line.update(...formatProgress(update.totals))
    const now = 'end' in update ? update.end.state : 'state' in update ? update.state : state
    if (now !== state) line.printPainted(formatState(id, now, totals))
    else if ('state' in update) line.update(undefined, `${state} for ${elapsed(since)}`)
    state = now
  }
}

/** Returns a line of `--json`: the name of the event, and the server's data. */
function eventOf(update: MigrationUpdate): object {
  if ('repository' in update) return { event: 'repository', ...update.repository }
  if ('totals' in update) return { event: 'progress', ...update.totals }
  if ('end' in update) return { event: 'end', ...update.end }
  return { event: 'state', ...update }
}

/** Formats a state; `exported` with the number of exported repositories, if it is known. */
function formatState(id: number, state: string, totals: TotalsResponse | undefined): string {
  const counts = totals ? `: ${totals.exported} of ${totals.repositories} repositories` : ''
  if (totals && isPartial({ state, repositories: totals })) {
    const partly = paint('yellow', 'partly exported', process.stderr)
    return `migration ${id} is ${partly}${counts}, ${describeMissing(totals)}`
  }
  const painted = paintState(state, process.stderr)
  if (state === 'failed') return `migration ${id} ${painted}`
  return `migration ${id} is ${painted}${state === 'exported' ? counts : ''}`
}

function formatRepositoryEnd(
  { full_name, state, reused, bytes_done, reason }: RepositoryProgressResponse,
  { verbose }: WatchOptions,
): string {
  const start = `${paintState(state, process.stderr)}: ${escapeForTerminal(full_name)}`
  if (reason)
    return `${start}: ${escapeForTerminal(verbose ? oneLine(reason) : shortReason(reason))}`
  return `${start}, ${formatBytes(bytes_done)}${reused ? ', reused' : ''}`
}

/** Returns the fraction that is done, and texts for lines of any length, longest first. */
function formatProgress(totals: TotalsResponse): [fraction: number, ...texts: string[]] {
  const { repositories, remaining, skipped, percent, bytes_done, bytes_expected } = totals
  const ended = repositories - remaining
  const counts = `${ended - skipped}/${repositories}`
  const details = [
    formatRest(totals),
    totals.bytes_per_second && !totals.stalled_since
      ? `${formatBytes(totals.bytes_per_second)}/s`
      : '',
    formatCurrent(totals),
    skipped > 0 ? `${skipped} skipped` : '',
    bytes_expected ? `${formatBytes(bytes_done)} of ${formatBytes(bytes_expected)}` : '',
  ].filter((text) => text !== '')
  const texts = details.flatMap((_, at) => {
    const shown = details.slice(0, details.length - at).join(', ')
    return [`${counts} repositories, ${shown}`, `${counts}, ${shown}`]
  })
  const fraction = (percent ?? (100 * ended) / Math.max(repositories, 1)) / 100
  return [fraction, ...texts, counts]
}

/** Formats the time left, or what happens while it is unknown. */
function formatRest(totals: TotalsResponse): string {
  const { phase, seconds_left, records_done, records_expected, waiting_until } = totals
  const { stalled_since: since } = totals
  if (since) return `stalled ${formatDuration((Date.now() - Date.parse(since)) / 1000)}`
  if (phase === 'sealing') return 'sealing archive'
  if (waiting_until) return 'waiting for forge'
  if (typeof seconds_left === 'number' && seconds_left > 0)
    return `${formatDuration(seconds_left)} left`
  return phase === 'records' ? `${records_done}/${records_expected} records` : ''
}

const PHASE_TEXTS: Record<string, string> = { records: 'reading records of', packing: 'packing' }

function formatCurrent({ under_way, stalled_since, waiting_for }: TotalsResponse): string {
  if (stalled_since) return `waiting for ${waiting_for}`
  const current = under_way?.find(({ phase }) => Object.hasOwn(PHASE_TEXTS, phase ?? ''))
  return current ? `${PHASE_TEXTS[current.phase!]} ${current.full_name}` : ''
}

const elapsed = (since: number) => formatDuration((performance.now() - since) / 1000)
