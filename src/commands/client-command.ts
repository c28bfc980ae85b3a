import type { Command } from 'commander'
import type { MigrationsApi } from '../client/migrations-api.ts'
import { escapeJsonForTerminal } from '../lib/terminal-text.ts'
import { VERSION } from '../service/version.ts'
import { type ClientConfig, type ClientFlags, readClientConfig } from '../settings/client-config.ts'
import { clientOptions } from '../settings/settings.ts'
import { addSetting, configFileOf, note, print, printPainted, printTable } from './command-line.ts'
import { untilStopped } from './stop-signal.ts'

/** A server, and how what it says is to be told. */
export interface ClientContext {
  api: MigrationsApi
  config: ClientConfig
  signal: AbortSignal
  isJson: boolean
  /** What to say from now on where the user stops the command. */
  ifStoppedNow(words: string): void
}

/** Adds a command that talks to a server. */
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

/** To be said with a command that is about the same migrations. */
export const sameOrgFlag = ({ config: { org } }: Pick<ClientContext, 'config'>): string =>
  org === undefined ? '' : ` --org ${org}`

/** The action of such a command: `act` gets the command's arguments, and its own options. */
export function withClient<A extends unknown[], O>(
  act: (talk: ClientContext, options: O, ...args: A) => Promise<void>,
  ifStopped?: string,
) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command
    const options = command.opts<ClientOptions & O>()
    const config = readClientConfig(options, process.env, configFileOf(command))
    for (const warning of config.warnings) note(`godwit: ${warning}`)
    await untilStopped(async (signal, ifStoppedNow) => {
      // Loaded only here: no other command waits for it.
      const { MigrationsApi } = await import('../client/migrations-api.ts')
      const { url, token, vendor, org } = config
      const onWait = (seconds: number) => note(`${url} is busy: trying again in ${seconds} s`)
      const server = { url, token, vendor, org, userAgent: `godwit/${VERSION}` }
      const api = new MigrationsApi(server, { signal, onWait })
      const args = command.processedArgs as A
      const isJson = options.json ?? false
      await act({ api, config, signal, isJson, ifStoppedNow }, options, ...args)
    }, ifStopped)
  }
}

/** What the server said, but for what would let others in. */
export function printJson(value: unknown): void {
  const shown = (key: string, each: unknown) => {
    if (key === 'temp_clone_token') return undefined
    return typeof each === 'bigint' ? String(each) : each
  }
  print(escapeJsonForTerminal(value, shown))
}

/** As JSON where that was asked for, and otherwise for people. */
export function tell(
  { isJson }: ClientContext,
  value: unknown,
  inWords: string | readonly (readonly string[])[],
): void {
  if (isJson) printJson(value)
  else if (typeof inWords === 'string') printPainted(inWords)
  else printTable(inWords)
}
