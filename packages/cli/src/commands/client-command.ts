import type { MigrationsApi } from '@godwit/contract/client/migrations-api'
import { VERSION } from '@godwit/server/service/version'
import type { Command } from 'commander'
import { type ClientConfig, type ClientFlags, readClientConfig } from '../settings/client-config.ts'
import { clientOptions } from '../settings/settings.ts'
import { readUserServers } from '../settings/user-servers.ts'
import { addSetting, configFileOf, idArgument, withExamples } from './command-line.ts'
import { type JsonOption, printMessage, printResult } from './print.ts'
import { runUntilStopped } from './stop-signal.ts'
import type { Table } from './table.ts'

/** What the action of a client command gets. */
export interface ClientContext {
  api: MigrationsApi
  config: ClientConfig
  signal: AbortSignal
  json: boolean
  /** Sets the message that is printed if a signal stops the command from now on. */
  setStopMessage(message: string): void
}

export type ClientCommands = ReturnType<typeof clientCommandsOf>

/**
 * Returns functions that add commands that call a server to `parent`. A command of `addWithId` takes the ID of a `resource`,
 * such as a migration, as its first argument. With `hasOrg`, commands take the organization whose resources they are about.
 */
export function clientCommandsOf(parent: Command, resource: string, { hasOrg = true } = {}) {
  const add = (name: string, about: string, examples: readonly string[]): Command => {
    const command = parent
      .command(name)
      .description(about)
      .option('--json', "print the server's response as JSON, without credentials")
    if (hasOrg) command.option('--org <ORG>', `${resource}s of this organization, instead of yours`)
    command
      .optionsGroup('Server:')
      .option('--url <URL>', `${clientOptions.url.about}; GODWIT_URL`)
      .option(
        '--token-file <FILE>',
        `${clientOptions.tokenFile.about}; GODWIT_TOKEN_FILE, GODWIT_TOKEN`,
      )
      .option('--token <TOKEN>', clientOptions.token.about)
    addSetting(command, 'vendor', 'Server:').optionsGroup('Options:')
    return withExamples(command, examples)
  }
  const addWithId = (...names: Parameters<typeof add>): Command =>
    add(...names).argument(...idArgument(resource))
  return { add, addWithId }
}

/** Returns the action of a client command. `act` gets the command's own options and its arguments. */
export function withClient<A extends unknown[], O>(
  act: (client: ClientContext, options: O, ...args: A) => Promise<void>,
  stopMessage?: string,
) {
  return async (...actionArguments: unknown[]): Promise<void> => {
    const command = actionArguments.at(-1) as Command
    const options = command.opts<ClientFlags & JsonOption & O>()
    const user = readUserServers(process.env)
    const config = readClientConfig(options, process.env, configFileOf(command), user)
    await runUntilStopped(async (signal, setStopMessage) => {
      const api = await connect(config, signal)
      const client = { api, config, signal, json: options.json ?? false, setStopMessage }
      await act(client, options, ...(command.processedArgs as A))
    }, stopMessage)
  }
}

/** Returns the action of a command that prints a response as JSON, or as `format` returns it. `empty` says that a list has no items. */
export const printing = <A extends unknown[], T>(
  request: (api: MigrationsApi, ...args: A) => Promise<T>,
  format: (response: T, client: ClientContext) => string | Table,
  empty?: string,
) =>
  withClient(async (client, _options, ...args: A) => {
    const response = await request(client.api, ...args)
    printResult(client, response, format(response, client), empty)
  })

/** Prints the warnings of the configuration, and returns the API of its server. */
export async function connect(config: ClientConfig, signal: AbortSignal) {
  const { url, token, vendor, org, warnings } = config
  for (const warning of warnings) printMessage(`godwit: ${warning}`)
  // Imported here, so that the help does not load it.
  const { MigrationsApi } = await import('@godwit/contract/client/migrations-api')
  const onWait = (seconds: number) => printMessage(`${url} is busy: trying again in ${seconds} s`)
  const server = { url, token, vendor, org, userAgent: `godwit/${VERSION}` }
  return new MigrationsApi(server, { signal, onWait })
}

/** Starts a migration. If the response is lost, a message says how to check whether the migration has started. */
export async function startOnce<T>(
  client: ClientContext,
  start: () => Promise<T>,
  list = `godwit migration list${client.api.orgFlag}`,
): Promise<T> {
  const message = `the migration may have started: check with \`${list}\``
  client.setStopMessage(`stopped; ${message}`)
  try {
    return await start()
  } catch (error) {
    const { TemporaryError } = await import('@godwit/contract/client/errors')
    if (error instanceof TemporaryError && error.mayHaveArrived) printMessage(message)
    throw error
  }
}
