import type { Command } from 'commander'
import type { MigrationsApi } from '../client/migrations-api.ts'
import { escapeJsonForTerminal } from '../lib/terminal-text.ts'
import { VERSION } from '../service/version.ts'
import { type ClientConfig, type ClientFlags, readClientConfig } from '../settings/client-config.ts'
import { clientOptions } from '../settings/settings.ts'
import { addSetting, configFileOf, note, print, printPainted, printTable } from './command-line.ts'
import { runUntilStopped } from './stop-signal.ts'

/** What a client command gets: the API of the server, its configuration, and how to print results. */
export interface ClientContext {
  api: MigrationsApi
  config: ClientConfig
  signal: AbortSignal
  isJson: boolean
  /** Sets the message for a user who stops the command from now on. */
  setStopMessage(message: string): void
}

/** Adds a command that calls a server. */
export function addClientCommand(parent: Command, name: string, about: string): Command {
  const command = parent
    .command(name)
    .description(about)
    .option('--json', "print the server's answer as JSON, without credentials")
    .option('--org <ORG>', 'migrations of this organization, instead of your own')
    .optionsGroup('Server:')
    .option('--url <URL>', `${clientOptions.url.about}; GODWIT_URL`)
    .option(
      '--token-file <FILE>',
      `${clientOptions.tokenFile.about}; GODWIT_TOKEN_FILE, GODWIT_TOKEN`,
    )
    .option('--token <TOKEN>', clientOptions.token.about)
  return addSetting(command, 'vendor', 'Server:').optionsGroup('Options:')
}

export interface ClientOptions extends ClientFlags {
  json?: boolean
}

/** The `--org` option for a command that a message suggests. */
export const orgFlag = ({ config: { org } }: Pick<ClientContext, 'config'>): string =>
  org === undefined ? '' : ` --org ${org}`

/** Returns the action of a client command. `act` gets the command's own options and its arguments. */
export function withClient<A extends unknown[], O>(
  act: (client: ClientContext, options: O, ...args: A) => Promise<void>,
  stopMessage?: string,
) {
  return async (...actionArguments: unknown[]): Promise<void> => {
    const command = actionArguments.at(-1) as Command
    const options = command.opts<ClientOptions & O>()
    const config = readClientConfig(options, process.env, configFileOf(command))
    for (const warning of config.warnings) note(`godwit: ${warning}`)
    await runUntilStopped(async (signal, setStopMessage) => {
      // Imported here so that the help does not load it.
      const { MigrationsApi } = await import('../client/migrations-api.ts')
      const { url, token, vendor, org } = config
      const onWait = (seconds: number) => note(`${url} is busy: trying again in ${seconds} s`)
      const server = { url, token, vendor, org, userAgent: `godwit/${VERSION}` }
      const api = new MigrationsApi(server, { signal, onWait })
      const args = command.processedArgs as A
      const isJson = options.json ?? false
      await act({ api, config, signal, isJson, setStopMessage }, options, ...args)
    }, stopMessage)
  }
}

/** Prints a response of the server as JSON, without credentials. */
export function printJson(value: unknown): void {
  const shown = (key: string, each: unknown) => {
    if (key === 'temp_clone_token') return undefined
    return typeof each === 'bigint' ? String(each) : each
  }
  print(escapeJsonForTerminal(value, shown))
}

/** Prints the value as JSON with --json, and otherwise the text or table. */
export function printResult(
  { isJson }: ClientContext,
  value: unknown,
  textOrTable: string | readonly (readonly string[])[],
): void {
  if (isJson) printJson(value)
  else if (typeof textOrTable === 'string') printPainted(textOrTable)
  else printTable(textOrTable)
}

/** Starts a migration. If the response is lost, a message tells the user to look before starting it again. */
export async function startOnce<T>(
  client: ClientContext,
  start: () => Promise<T>,
  list = `godwit migration list${orgFlag(client)}`,
): Promise<T> {
  const message = `the migration may have started: check with \`${list}\``
  client.setStopMessage(`stopped; ${message}`)
  try {
    return await start()
  } catch (error) {
    const { mayHaveArrived } = await import('../client/errors.ts')
    if (mayHaveArrived(error)) note(message)
    throw error
  }
}
