import type { Command } from 'commander'
import type { RetryForecastResponse } from '../../client/responses.ts'
import { harmless } from '../../ground/terminal-text.ts'
import { UserMistake } from '../../ground/user-mistake.ts'
import type { StartRequest } from '../../wire/types.ts'
import { addClientCommand, type Talk, talking, tell } from '../client-command.ts'
import { idArgument, note, withExamples } from '../command-line.ts'
import { forecastInWords, forecastRows } from './in-words.ts'
import {
  addStartArguments,
  addStartFlags,
  type StartOptions,
  startRequest,
} from './start-request.ts'
import { starting } from './starting.ts'
import { watchToTheEnd } from './watch.ts'

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
    talking(async (talk, options: Options, names: string[]) => {
      const body = await startRequest(talk, names, options)
      if (options.preflight) return forecast(talk, body)
      const started = await starting(talk, () => talk.api.start(body))
      if (!options.watch) return tell(talk, started, String(started.id))
      if (!talk.isJson) tell(talk, started, String(started.id))
      await watchToTheEnd(talk, started.id)
    }),
  )
}

async function forecast(talk: Talk, body: StartRequest): Promise<void> {
  const found = await talk.api.preflight(body)
  tell(talk, found, forecastRows(found))
  note(forecastInWords(found))
  const skipped = found.repositories.filter(({ reason }) => reason !== null)
  if (skipped.length > 0 && !body.allow_partial)
    throw new UserMistake(
      `the migration would fail for ${skipped.map(({ full_name }) => harmless(full_name)).join(', ')}; --allow-partial skips them`,
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
      talking(async (talk, { allowPartial }: { allowPartial?: boolean }, id: number) => {
        const forecast = await talk.api.retryForecast(id)
        const lines = forecast ? inWords(id, forecast, allowPartial ?? false) : []
        for (const line of lines) note(line)
        const asked = allowPartial ? { allow_partial: true } : {}
        const retried = await starting(talk, () => talk.api.retry(id, asked))
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
  const what = (changed: boolean | null) =>
    changed === null ? '' : changed ? '; it has changed since' : '; it has not changed since'
  const how = (isGone: boolean) => {
    if (isGone) return isPartial ? 'skipped' : 'gone'
    return isPartial ? 'skipped if it fails again' : 'failed'
  }
  const lines = broken.map(
    ({ full_name, reason, gone, changed }) =>
      `${how(gone)}: ${harmless(`${full_name}: ${reason}`)}${what(changed)}`,
  )
  if (isPartial || !unchanged) return lines
  return [
    ...lines,
    `nothing has changed since migration ${id}: a retry will end in the same way; --allow-partial skips ${broken.length === 1 ? 'this repository' : 'these repositories'}`,
  ]
}
