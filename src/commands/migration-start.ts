import type { Command } from 'commander'
import type { MigrationJson, StartJson } from '../client/wire.ts'
import { harmless } from '../ground/terminal-text.ts'
import { UserMistake } from '../user-mistake.ts'
import { addClientCommand, sameFlags, type Talk, talking, tell } from './client-command.ts'
import { note, withExamples } from './command-line.ts'
import { forecastInWords, forecastRows } from './migration-in-words.ts'
import { watchToTheEnd } from './migration-watch.ts'
import {
  addStartArguments,
  addStartFlags,
  type StartOptions,
  startRequest,
} from './start-request.ts'

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
      const started = await start(talk, body)
      if (!options.watch) return tell(talk, started, String(started.id))
      if (!talk.isJson) tell(talk, started, String(started.id))
      await watchToTheEnd(talk, started.id)
    }),
  )
}

async function start(talk: Talk, body: StartJson): Promise<MigrationJson> {
  try {
    return await talk.api.start(body)
  } catch (error) {
    const { ServerUnreachable } = await import('../client/errors.ts')
    if (error instanceof ServerUnreachable && error.mayHaveArrived)
      note(`the migration may have started: check with \`godwit migration list${sameFlags(talk)}\``)
    throw error
  }
}

async function forecast(talk: Talk, body: StartJson): Promise<void> {
  const found = await talk.api.preflight(body)
  tell(talk, found, forecastRows(found))
  note(forecastInWords(found))
  const skipped = found.repositories.filter(({ reason }) => reason !== null)
  if (skipped.length > 0 && !body.allow_partial)
    throw new UserMistake(
      `the migration would fail for ${skipped.map(({ full_name }) => harmless(full_name)).join(', ')}; --allow-partial skips them`,
    )
}
