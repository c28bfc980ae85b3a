import type { Command } from 'commander'
import { type MigrationJson, type StartFlag, type StartJson, startFlags } from '../client/wire.ts'
import { harmless } from '../ground/terminal-text.ts'
import { Misuse, UserMistake } from '../user-mistake.ts'
import { addClientCommand, sameFlags, type Talk, talking, tell } from './client-command.ts'
import { note, withExamples } from './command-line.ts'
import { forecastInWords, forecastRows } from './migration-in-words.ts'
import { watchToTheEnd } from './migration-watch.ts'

interface StartOptions extends Record<string, unknown> {
  all?: boolean
  preflight?: boolean
  watch?: boolean
}

const flags = Object.keys(startFlags) as StartFlag[]
const spelt = (flag: StartFlag) => `--${flag.replaceAll('_', '-')}`
const keyOf = (flag: StartFlag) => flag.replace(/_(.)/g, (_, letter) => letter.toUpperCase())

export function startCommand(migration: Command): void {
  const command = addClientCommand(migration, 'start', 'start a migration and print its ID')
  command
    .argument('[repositories...]', 'OWNER/NAME, or NAME for one of your own, or of --org')
    .option('--all', 'all repositories that you may migrate')
    .option('--watch', 'watch it until it has ended')
    .option('--preflight', 'print an estimate, start nothing (Godwit only)')
  for (const flag of flags) command.option(spelt(flag), startFlags[flag])
  withExamples(
    command,
    'godwit migration start alice/site octo/tools --watch',
    'godwit migration start --all --lock-repositories',
    'godwit migration start alice/site --preflight',
    'godwit migration start --org octo --all --watch',
  )
  command.action(
    talking(async (talk, options: StartOptions, names: string[]) => {
      const body = await asked(talk, names, options)
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

async function asked(talk: Talk, names: string[], options: StartOptions): Promise<StartJson> {
  const isOrganization = options[keyOf('org_metadata_only')] === true
  if (options.all ? names.length > 0 : names.length === 0 && !isOrganization)
    throw new Misuse('no repositories: give OWNER/NAME…, or --all for all of yours')
  return {
    repositories: options.all ? await allOfMine(talk) : names,
    ...Object.fromEntries(flags.filter((flag) => options[keyOf(flag)]).map((flag) => [flag, true])),
  }
}

/** Whoever may only read a repository may not migrate it. */
async function allOfMine({ api }: Talk): Promise<string[]> {
  const all = await api.ownRepositories()
  const mine = all.filter(({ permissions }) => permissions?.admin !== false)
  const others = all.length - mine.length
  if (others > 0)
    note(`skipped ${others} of ${all.length} repositories: you do not administer them`)
  if (mine.length === 0)
    throw new UserMistake(`${api.server.url} lists no repositories of ${api.server.org ?? 'yours'}`)
  return mine.map(({ full_name }) => full_name)
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
