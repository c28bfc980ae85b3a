import type { Command } from 'commander'
import type { RetryForecastResponse } from '../../client/responses.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { UserError } from '../../lib/user-error.ts'
import type { StartRequest } from '../../wire/types.ts'
import { addClientCommand, type ClientContext, tell, withClient } from '../client-command.ts'
import { idArgument, note, withExamples } from '../command-line.ts'
import { forecastRows, formatForecast } from './format-migration.ts'
import {
  addStartArguments,
  addStartFlags,
  type StartOptions,
  startRequest,
} from './start-request.ts'
import { startOnce } from './starting.ts'
import { watchUntilEnd } from './watch.ts'

interface Options extends StartOptions {
  preflight?: boolean
  watch?: boolean
}

export function startCommand(migration: Command): void {
  const command = addClientCommand(migration, 'start', 'start a migration and print its ID')
  addStartArguments(command)
    .option('--watch', 'watch it until it has ended')
    .option('--preflight', 'print an estimate, start nothing (Godwit only)')
  addStartFlags(command)
  withExamples(
    command,
    'godwit migration start alice/site octo/tools --watch',
    'godwit migration start --all --lock-repositories',
    'godwit migration start alice/site --preflight',
    'godwit migration start --org octo --all --watch',
  )
  command.action(
    withClient(async (talk, options: Options, names: string[]) => {
      const body = await startRequest(talk, names, options)
      if (options.preflight) return forecast(talk, body)
      const started = await startOnce(talk, () => talk.api.start(body))
      if (!options.watch) return tell(talk, started, String(started.id))
      if (!talk.isJson) tell(talk, started, String(started.id))
      await watchUntilEnd(talk, started.id)
    }),
  )
}

async function forecast(talk: ClientContext, body: StartRequest): Promise<void> {
  const found = await talk.api.preflight(body)
  tell(talk, found, forecastRows(found))
  note(formatForecast(found))
  const skipped = found.repositories.filter(({ reason }) => reason !== null)
  if (skipped.length > 0 && !body.allow_partial)
    throw new UserError(
      `the migration would fail for ${skipped.map(({ full_name }) => escapeForTerminal(full_name)).join(', ')}; --allow-partial skips them`,
    )
}

export function retryCommand(migration: Command): void {
  const about =
    'start a finished migration again as a new one; unchanged repositories are reused (Godwit only)'
  const command = addClientCommand(migration, 'retry', about)
  withExamples(command, 'godwit migration retry 7', 'godwit migration retry 7 --allow-partial')
  command
    .argument(...idArgument('migration'))
    .option('--allow-partial', 'skip repositories that still cannot be exported')
    .action(
      withClient(async (talk, { allowPartial }: { allowPartial?: boolean }, id: number) => {
        const forecast = await talk.api.retryForecast(id)
        const lines = forecast ? inWords(id, forecast, allowPartial ?? false) : []
        for (const line of lines) note(line)
        const asked = allowPartial ? { allow_partial: true } : {}
        const retried = await startOnce(talk, () => talk.api.retry(id, asked))
        tell(talk, retried, String(retried.id))
      }),
    )
}

/** What is known before it starts: what failed, and whether anything of it is another now. */
function inWords(
  id: number,
  { broken, unchanged }: RetryForecastResponse,
  isPartial: boolean,
): string[] {
  const what = (changed: boolean | null | undefined) =>
    typeof changed !== 'boolean'
      ? ''
      : changed
        ? '; it has changed since'
        : '; it has not changed since'
  const how = (isGone: boolean | null | undefined) => {
    if (isGone) return isPartial ? 'skipped' : 'gone'
    return isPartial ? 'skipped if it fails again' : 'failed'
  }
  const lines = broken.map(
    ({ full_name, reason, gone, changed }) =>
      `${how(gone)}: ${escapeForTerminal(`${full_name}: ${reason}`)}${what(changed)}`,
  )
  if (isPartial || !unchanged) return lines
  return [
    ...lines,
    `nothing has changed since migration ${id}: a retry will end in the same way; --allow-partial skips ${broken.length === 1 ? 'this repository' : 'these repositories'}`,
  ]
}
