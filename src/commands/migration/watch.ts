import type { Command } from 'commander'
import type {
  EndResponse,
  RepositoryProgressResponse,
  TotalsResponse,
} from '../../client/responses.ts'
import { duration, inUnits } from '../../lib/quantities.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { UserError } from '../../lib/user-error.ts'
import {
  addClientCommand,
  type ClientContext,
  printJson,
  sameOrgFlag,
  withClient,
} from '../client-command.ts'
import { idArgument, withExamples } from '../command-line.ts'
import { paintState } from '../paint.ts'
import { progressLine } from '../progress-line.ts'
import { printPartialExport } from './partial-export.ts'

export function watchCommand(migration: Command): void {
  const command = addClientCommand(migration, 'watch', 'watch a migration until it has ended')
  withExamples(command, 'godwit migration watch 7 && godwit migration download 7')
  command
    .argument(...idArgument('migration'))
    .action(withClient((talk, _options, id: number) => watchUntilEnd(talk, id)))
}

/** Ends well when the migration does. */
export async function watchUntilEnd(talk: ClientContext, id: number): Promise<void> {
  const { api, signal, isJson } = talk
  talk.ifStoppedNow('stopped watching; the migration continues')
  const { end, totals } = await watch(talk, id, signal)
  talk.ifStoppedNow(`stopped; migration ${id} is ${escapeForTerminal(end.state)}`)
  if (isJson) printJson(await api.show(id))
  if (end.state !== 'exported')
    throw new UserError(
      `migration ${id} is ${escapeForTerminal(end.state)}${whyInWords(end)}; \`godwit migration report ${id}${sameOrgFlag(talk)}\` shows more (Godwit only)`,
    )
  await printPartialExport(talk, id, totals && finalCounts(totals))
}

/** A cancelled one needs no reason. */
const whyInWords = ({ state, reason }: EndResponse): string =>
  reason && reason !== state ? `: ${escapeForTerminal(reason)}` : ''

/** Those that came before the last repository had ended say nothing of the end. */
const finalCounts = ({ repositories: total, exported, skipped, remaining }: TotalsResponse) =>
  remaining === 0 ? { total, exported, skipped } : undefined

interface Watched {
  end: EndResponse
  /** The last that were told, where the server tells them. */
  totals: TotalsResponse | undefined
}

async function watch({ api }: ClientContext, id: number, signal: AbortSignal): Promise<Watched> {
  const { watchMigration } = await import('../../client/watch-migration.ts')
  using line = progressLine(process.stderr)
  const since = performance.now()
  const onError = (error: Error) => line.say(`${error.message}; trying again`)
  let state = ''
  let totals: TotalsResponse | undefined
  for await (const seen of watchMigration(api, id, { signal, onError })) {
    if ('repository' in seen) line.sayPainted(formatRepositoryEnd(seen.repository))
    if ('totals' in seen) {
      totals = seen.totals
      line.show(...drawn(totals))
    }
    const now = 'end' in seen ? seen.end.state : 'state' in seen ? seen.state : state
    if (now !== state) line.sayPainted(`migration ${id} is ${stateInWords(now, totals)}`)
    else if ('state' in seen) line.show(undefined, `${state} for ${elapsed(since)}`)
    state = now
    if ('end' in seen) return { end: seen.end, totals }
  }
  throw new Error('the watch ended before the migration')
}

/** What has been exported is told with how much of what was asked for it is. */
function stateInWords(state: string, totals: TotalsResponse | undefined): string {
  if (state !== 'exported' || !totals) return paintState(state, process.stderr)
  const { repositories, exported, skipped } = totals
  const some = `${exported} of ${repositories} repositories`
  if (skipped === 0) return `${paintState(state, process.stderr)}: ${some}`
  return `${paintState('partial', process.stderr)}: ${some}, ${skipped} skipped`
}

function formatRepositoryEnd({
  full_name,
  state,
  reused,
  bytes_done,
  reason,
}: RepositoryProgressResponse) {
  const how = paintState(state, process.stderr)
  if (reason) return `${how}: ${escapeForTerminal(full_name)}: ${escapeForTerminal(reason)}`
  return `${how}: ${escapeForTerminal(full_name)}, ${inUnits(bytes_done)}${reused ? ', reused' : ''}`
}

function drawn(totals: TotalsResponse): [part: number, text: string] {
  const { repositories, remaining, skipped, bytes_done, bytes_expected } = totals
  const ended = repositories - remaining
  const part = bytes_expected ? bytes_done / bytes_expected : ended / Math.max(repositories, 1)
  const rate = totals.bytes_per_second ? `, ${inUnits(totals.bytes_per_second)}/s` : ''
  const left =
    typeof totals.seconds_left !== 'number' ? '' : `, ${duration(totals.seconds_left)} left`
  const without = skipped > 0 ? `, ${skipped} skipped` : ''
  return [
    part,
    `${ended - skipped}/${repositories} repositories${without}, ${inUnits(bytes_done)}${rate}${left}`,
  ]
}

const elapsed = (since: number) => duration((performance.now() - since) / 1000)
