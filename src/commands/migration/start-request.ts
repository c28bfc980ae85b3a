import type { Command } from 'commander'
import { startFlagHelp } from '../../client/responses.ts'
import { UsageError, UserError } from '../../lib/user-error.ts'
import type { StartFlag, StartRequest } from '../../wire/types.ts'
import type { ClientContext } from '../client-command.ts'
import { note } from '../command-line.ts'

export interface StartOptions extends Record<string, unknown> {
  all?: boolean
}

const flags = Object.keys(startFlagHelp) as StartFlag[]
const spelt = (flag: StartFlag) => `--${flag.replaceAll('_', '-')}`
const keyOf = (flag: StartFlag) => flag.replace(/_(.)/g, (_, letter) => letter.toUpperCase())

/** Which repositories, and how much of them. */
export function addStartArguments(command: Command): Command {
  command
    .argument('[repositories...]', 'OWNER/NAME, or NAME for one of your own, or of --org')
    .option('--all', 'all repositories that you may migrate')
  return command
}

export function addStartFlags(command: Command): Command {
  for (const flag of flags) command.option(spelt(flag), startFlagHelp[flag])
  return command
}

export async function startRequest(
  talk: ClientContext,
  names: string[],
  options: StartOptions,
): Promise<StartRequest> {
  const isOrganization = options[keyOf('org_metadata_only')] === true
  if (options.all ? names.length > 0 : names.length === 0 && !isOrganization)
    throw new UsageError('no repositories: give OWNER/NAME…, or --all for all of yours')
  return {
    repositories: options.all ? await allOfMine(talk) : names,
    ...Object.fromEntries(flags.filter((flag) => options[keyOf(flag)]).map((flag) => [flag, true])),
  }
}

/** Whoever may only read a repository may not migrate it. */
async function allOfMine({ api }: ClientContext): Promise<string[]> {
  const all = await api.ownRepositories()
  const mine = all.filter(({ permissions }) => permissions?.admin !== false)
  const others = all.length - mine.length
  if (others > 0)
    note(`skipped ${others} of ${all.length} repositories: you do not administer them`)
  if (mine.length === 0)
    throw new UserError(`${api.server.url} lists no repositories of ${api.server.org ?? 'yours'}`)
  return mine.map(({ full_name }) => full_name)
}
