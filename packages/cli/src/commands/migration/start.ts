import {
  type RepositoryResponse,
  type RetryForecastResponse,
  startFlagHelp,
} from '@godwit/contract/client/responses'
import type { StartFlag, StartRequest } from '@godwit/contract/schemas/types'
import { formatCount } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError, UserError } from '@godwit/lib/user-error'
import type { Command } from 'commander'
import {
  type ClientCommands,
  type ClientContext,
  startOnce,
  withClient,
} from '../client-command.ts'
import { printMessage, printResult } from '../print.ts'
import { forecastRows, formatForecast } from './format-migration.ts'
import { watchUntilEnd } from './watch.ts'

export type StartOptions = Record<string, unknown> & { all?: boolean; name?: string }

type Options = StartOptions & { preflight?: boolean; watch?: boolean }

export function startCommand({ add }: ClientCommands): void {
  const command = add('start', 'start a migration and print its ID', [
    'godwit migration start alice/site octo/tools --watch',
    'godwit migration start --all --lock-repositories',
    'godwit migration start alice/site --preflight',
    'godwit migration start --org octo --all --watch',
  ])
  addStartArguments(command)
    .option('--watch', 'watch it until it has ended')
    .option('--preflight', 'print an estimate, start nothing (Godwit only)')
  addStartFlags(command).action(
    withClient(async (client, options: Options, names: string[]) => {
      const body = await startRequest(client, names, options)
      if (options.preflight) return forecast(client, body)
      const started = await startOnce(client, () => client.api.start(body))
      await printStarted(client, started, options.watch)
    }),
  )
}

/** Prints the ID of a migration, and watches it if requested. With --json, every line of the watch has the ID. */
async function printStarted(client: ClientContext, started: { id: number }, watch = false) {
  if (!watch || !client.json) printResult(client, started, String(started.id))
  if (watch) await watchUntilEnd(client, started.id)
}

type RetryOptions = { allowPartial?: boolean; watch?: boolean }

async function forecast(client: ClientContext, body: StartRequest): Promise<void> {
  const found = await client.api.preflight(body)
  printResult(client, found, forecastRows(found))
  printMessage(formatForecast(found))
  const skipped = found.repositories.filter(({ reason }) => reason !== null)
  if (skipped.length > 0 && !body.allow_partial)
    throw new UserError(
      `the migration would fail for ${skipped.map(({ full_name }) => escapeForTerminal(full_name)).join(', ')}; --allow-partial skips them`,
    )
}

export function retryCommand({ addWithId }: ClientCommands): void {
  addWithId(
    'retry',
    'start a finished migration again as a new one; unchanged repositories are reused (Godwit only)',
    ['godwit migration retry 7', 'godwit migration retry 7 --allow-partial --watch'],
  )
    .option('--allow-partial', 'skip repositories that still cannot be exported')
    .option('--watch', 'watch the new migration until it has ended')
    .action(
      withClient(async (client, { allowPartial, watch }: RetryOptions, id: number) => {
        const forecast = await client.api.retryForecast(id)
        const lines = forecast ? describeForecast(id, forecast, { allowPartial }) : []
        for (const line of lines) printMessage(line)
        const body = allowPartial ? { allow_partial: true } : {}
        const retried = await startOnce(client, () => client.api.retry(id, body))
        await printStarted(client, retried, watch)
      }),
    )
}

/** Lists the repositories that failed, and whether they have changed since. */
function describeForecast(
  id: number,
  { broken, unchanged }: RetryForecastResponse,
  { allowPartial }: { allowPartial: boolean | undefined },
): string[] {
  const describeChange = (changed: boolean | null | undefined) => {
    if (typeof changed !== 'boolean') return ''
    return changed ? '; it has changed since' : '; it has not changed since'
  }
  const describeOutcome = (isGone: boolean | null | undefined) => {
    if (isGone) return allowPartial ? 'skipped' : 'gone'
    return allowPartial ? 'skipped if it fails again' : 'failed'
  }
  const lines = broken.map(
    ({ full_name, reason, gone, changed }) =>
      `${describeOutcome(gone)}: ${escapeForTerminal(`${full_name}: ${reason}`)}${describeChange(changed)}`,
  )
  if (allowPartial || !unchanged) return lines
  return [
    ...lines,
    `nothing has changed since migration ${id}: a retry will end in the same way; --allow-partial skips ${broken.length === 1 ? 'this repository' : 'these repositories'}`,
  ]
}

const flags = Object.keys(startFlagHelp) as StartFlag[]
const optionName = (flag: StartFlag) => flag.replace(/_(.)/g, (_, letter) => letter.toUpperCase())

export const addStartArguments = (command: Command): Command =>
  command
    .argument(
      '[repositories...]',
      'OWNER/NAME; OWNER for all of its repositories that you may migrate; NAME for one of yours, or of --org',
    )
    .option('--all', 'all repositories that you may migrate; with --org, all of the organization')
    .option('--name <NAME>', 'name of the migration, for lists and the file name (Godwit only)')

export function addStartFlags(command: Command): Command {
  for (const flag of flags) command.option(`--${flag.replaceAll('_', '-')}`, startFlagHelp[flag])
  return command
}

export async function startRequest(client: ClientContext, names: string[], options: StartOptions) {
  const needsNames = options[optionName('org_metadata_only')] !== true
  if (options.all && names.length > 0)
    throw new UsageError('--all means all repositories: leave it out, or the names')
  if (!options.all && names.length === 0 && needsNames)
    throw new UsageError('no repositories: give OWNER/NAME or OWNER, or --all for all of yours')
  const repositories = options.all
    ? await administeredRepositories(client)
    : await resolve(client, names)
  return { repositories, ...startSettings(options) }
}

/** Returns the name and the flags of a start, or of a schedule. */
export const startSettings = (options: StartOptions): Omit<StartRequest, 'repositories'> => ({
  ...(options.name !== undefined && { name: options.name }),
  ...Object.fromEntries(
    flags.filter((flag) => options[optionName(flag)]).map((flag) => [flag, true]),
  ),
})

/** Replaces each OWNER by the owner's repositories that the caller may migrate. A NAME is left to the server. */
async function resolve({ api }: ClientContext, names: string[]): Promise<string[]> {
  if (names.every((name) => name.includes('/'))) return names
  const visible = (await api.visibleRepositories()) ?? []
  const resolved = names.flatMap((name) => {
    const prefix = `${name.toLowerCase()}/`
    const owned = visible.filter(({ full_name }) => full_name.toLowerCase().startsWith(prefix))
    return owned.length === 0 ? [name] : administered(owned, `of ${name}`)
  })
  return [...new Map(resolved.map((name) => [name.toLowerCase(), name])).values()]
}

async function administeredRepositories({ api }: ClientContext): Promise<string[]> {
  const all = await api.ownRepositories()
  const owners = new Set(all.map(({ full_name }) => full_name.split('/')[0]!.toLowerCase()))
  const others = (await api.ownedOrganizations()).filter((org) => !owners.has(org.toLowerCase()))
  const hint = `--org ${escapeForTerminal(others[0] ?? '')} for all of ${others.map(escapeForTerminal).join(' or of ')}`
  if (all.length === 0)
    throw new UserError(
      `${api.server.url} lists no repositories of ${api.server.org ?? 'yours'}${others.length > 0 ? `: add ${hint}` : ''}`,
    )
  if (others.length > 0) printMessage(`your organizations are not included: use ${hint}`)
  return administered(all, `of ${api.server.org ?? 'yours'}`)
}

/** Only the administrators of a repository may migrate it. */
function administered(all: readonly RepositoryResponse[], whose: string): string[] {
  const mine = all.filter(({ permissions }) => permissions?.admin !== false)
  if (mine.length === 0)
    throw new UserError(`no repository ${whose} can be migrated: you administer none of them`)
  const others = all.length - mine.length
  if (others > 0)
    printMessage(
      `skipped ${others} of ${formatCount(all.length, 'repository')} ${whose}: you do not administer ${others === 1 ? 'it' : 'them'}`,
    )
  return mine.map(({ full_name }) => full_name)
}
