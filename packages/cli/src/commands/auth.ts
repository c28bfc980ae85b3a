import { chmod, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { makeDirectory } from '@godwit/lib/make-directory'
import { formatCount } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { ConfigError, UsageError, UserError } from '@godwit/lib/user-error'
import type { Command } from 'commander'
import { type ClientConfig, clientOrigins, readClientConfig } from '../settings/client-config.ts'
import { webAddress } from '../settings/config-values.ts'
import {
  formatServers,
  readUserServers,
  serverKey,
  type UserServers,
} from '../settings/user-servers.ts'
import { writeFileAtomically } from './atomic-file.ts'
import { connect } from './client-command.ts'
import { addSetting, configFileOf, withExamples } from './command-line.ts'
import { printJson, printMessage, printResult } from './print.ts'
import { stoppable } from './stop-signal.ts'

type Options = { url?: string; vendor?: string; withToken?: boolean; json?: boolean }

/** Adds the commands that store servers and tokens in the user's configuration. */
export function authCommands(program: Command, about: string): void {
  const auth = withExamples(program.command('auth').description(about), [
    'godwit auth login',
    'godwit auth status',
  ])
  const add = (name: string, aboutCommand: string, examples: string[]) =>
    withExamples(auth.command(name).description(aboutCommand), examples)
      .option('--json', 'print the result as JSON, without the token')
      .option('--url <URL>', 'base URL of the API')
  const login = add(
    'login',
    'check a token and store it for its server, which then is the active one',
    [
      'godwit auth login',
      'godwit auth login --url https://godwit.example.com --with-token < token',
    ],
  ).option('--with-token', 'read the token from standard input, instead of asking for it')
  addSetting(login, 'vendor', 'Options:').action(stoppable(logIn, 'stopped; nothing was stored'))
  add('status', 'show each server, its account, where its token comes from and whether it works', [
    'godwit auth status',
  ]).action(stoppable(showStatus, 'stopped'))
  add('switch', 'make another stored server the active one', [
    'godwit auth switch --url https://godwit.example.com',
  ]).action(stoppable(switchServer, 'stopped'))
  add('logout', 'remove the active server, or that of --url, and its token', [
    'godwit auth logout',
  ]).action(stoppable(logOut, 'stopped'))
}

async function logIn(signal: AbortSignal, options: Options, command: Command): Promise<void> {
  const file = configFileOf(command)
  const { withToken = false, vendor } = options
  const isTerminal = process.stdin.isTTY
  const given = options.url ?? (process.env.GODWIT_URL || undefined)
  if (given === undefined && !isTerminal) throw new UsageError('no server: give --url URL')
  if (!withToken && !isTerminal)
    throw new UsageError('no terminal to ask for the token: use --with-token < FILE')
  const url = readUrl(given ?? (await ask('Server URL: ', signal)))
  const token = isTerminal
    ? await ask(`Token for ${url}: `, signal, { isSecret: true })
    : (await text(process.stdin)).trim()
  if (token === '') throw new UsageError('no token was given')

  const env = { ...process.env, GODWIT_TOKEN: token, GODWIT_TOKEN_FILE: undefined }
  const config = readClientConfig({ url, ...(vendor && { vendor }) }, env, file)
  const { login } = await (await connect(config, signal)).user()
  const user = readUserServers(process.env)
  const servers = new Map(user.servers).set(url, { login, token })
  await store({ ...user, active: url, servers })
  const name = escapeForTerminal(login)
  printResult(options, { url, login }, `logged in to ${url} as ${name}`)
  for (const variable of ['GODWIT_TOKEN', 'GODWIT_TOKEN_FILE'])
    if (process.env[variable])
      printMessage(`godwit: ${variable} is set, and is used instead of the stored token`)
}

function readUrl(written: string): string {
  try {
    return serverKey(webAddress(written.trim()))
  } catch (error) {
    throw new UsageError(`the URL of the server ${(error as Error).message}`)
  }
}

/** Asks at the terminal. The characters of a secret are not shown. */
async function ask(question: string, signal: AbortSignal, { isSecret = false } = {}) {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const output = isSecret ? silent : process.stderr
  // As a terminal, the interface turns off the echo of the kernel and echoes the characters to its output.
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const closed = Promise.withResolvers<never>()
  terminal.on('close', () => closed.reject(new UsageError('nothing was entered')))
  try {
    if (isSecret) process.stderr.write(question)
    const answer = terminal.question(isSecret ? '' : question, { signal })
    return (await Promise.race([answer, closed.promise])).trim()
  } finally {
    closed.promise.catch(() => {})
    terminal.close()
    if (isSecret) process.stderr.write('\n')
  }
}

interface Status {
  url: string
  active: boolean
  login: string | null
  token_from: string | null
  works: boolean
  error: string | null
}

async function showStatus(signal: AbortSignal, { url: flag, json }: Options, command: Command) {
  const file = configFileOf(command)
  const user = readUserServers(process.env)
  const flags = flag === undefined ? {} : { url: readUrl(flag) }
  const used = clientOrigins(flags, process.env, file, user).url?.text
  const active = used === undefined ? undefined : readUrl(used)
  const urls = new Set([...(active ? [active] : []), ...(flag ? [] : user.servers.keys())])
  if (urls.size === 0) {
    if (json) printJson([])
    throw new UserError('you are not logged in to a server: run `godwit auth login`')
  }
  const statuses: Status[] = []
  for (const url of urls) {
    const isActive = url === active
    // The tokens of variables and files are for the server in use only.
    const configure = () =>
      isActive
        ? readClientConfig({ url }, process.env, file, user)
        : readClientConfig({ url }, {}, undefined, user)
    statuses.push(await statusOf(url, isActive, configure, signal))
  }
  printResult({ json }, statuses, statuses.map(describeStatus).join('\n\n'))
  const broken = statuses.filter(({ works }) => !works).length
  if (broken > 0)
    throw new UserError(`${broken} of ${formatCount(statuses.length, 'server')} cannot be used`)
}

async function statusOf(
  url: string,
  active: boolean,
  configure: () => ClientConfig,
  signal: AbortSignal,
): Promise<Status> {
  let from: string | null = null
  try {
    const config = configure()
    from = config.tokenFrom
    const { login } = await (await connect(config, signal)).user()
    return { url, active, login, token_from: from, works: true, error: null }
  } catch (error) {
    signal.throwIfAborted()
    const { describeKnownError } = await import('./known-errors.ts')
    const { message } = error as Error
    if (!(error instanceof ConfigError) && !describeKnownError(error as Error)) throw error
    return { url, active, login: null, token_from: from, works: false, error: message }
  }
}

const describeStatus = ({ url, active, login, token_from, error }: Status): string =>
  [
    `${url}${active ? ' (active)' : ''}`,
    `  account  ${escapeForTerminal(login ?? '-')}`,
    `  token    ${token_from === null ? 'none' : `from ${escapeForTerminal(token_from)}`}`,
    `  state    ${error === null ? 'works' : `does not work: ${escapeForTerminal(error)}`}`,
  ].join('\n')

async function switchServer(_signal: AbortSignal, { url: flag, json }: Options): Promise<void> {
  const user = readUserServers(process.env)
  if (flag === undefined) throw new UsageError(`no server: give --url URL; ${known(user)}`)
  const url = requireStored(user, readUrl(flag))
  await store({ ...user, active: url })
  printResult({ json }, { url }, `${url} is the active server now`)
}

async function logOut(_signal: AbortSignal, { url: flag, json }: Options): Promise<void> {
  const user = readUserServers(process.env)
  const given = flag === undefined ? user.active : readUrl(flag)
  if (given === undefined) throw new UserError('you are not logged in to a server')
  const url = requireStored(user, given)
  const servers = new Map(user.servers)
  servers.delete(url)
  const active = user.active === url ? [...servers.keys()][0] : user.active
  await store({ ...user, active, servers })
  const next = active !== undefined && active !== user.active ? `; ${active} is active now` : ''
  printResult({ json }, { url, active_url: active ?? null }, `logged out of ${url}${next}`)
  printMessage('the token stays valid on the server until it is removed there or expires')
}

function requireStored(user: UserServers, url: string): string {
  if (user.servers.has(url)) return url
  throw new UserError(`you are not logged in to ${url}: ${known(user)}`)
}

const known = ({ servers }: UserServers): string =>
  servers.size === 0
    ? 'no server is stored'
    : `the stored servers are ${[...servers.keys()].join(', ')}`

/** Writes the file, which only this user may read, or removes it if it would be empty. */
async function store(user: UserServers): Promise<void> {
  const folder = dirname(user.path)
  makeDirectory(folder, 0o700)
  await chmod(folder, 0o700)
  if (user.servers.size === 0) await rm(user.path, { force: true })
  else await writeFileAtomically(user.path, [Buffer.from(formatServers(user))], { force: true })
}
