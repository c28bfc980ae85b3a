import { disagreements } from './config-agreement.ts'
import type { Listen } from './config-values.ts'
import { type Option, options } from './settings.ts'

type Options = typeof options
export type OptionName = keyof Options
export const optionNames = Object.keys(options) as OptionName[]
export const optionOf = (name: OptionName): Option<unknown> => options[name]

type Value<N extends OptionName> = ReturnType<Options[N]['read']>
type Derived = 'baseUrl' | 'webUrl' | 'cloneUrl' | 'sshUrl'
type IsAlwaysSet<N extends OptionName> = Options[N] extends { fallback: string } ? true : false

export type Config = Readonly<
  {
    [N in OptionName]: IsAlwaysSet<N> extends true
      ? Value<N>
      : N extends Derived
        ? Value<N>
        : Value<N> | undefined
  } & {
    /** PATH, handed on to git. */
    searchPath: string
    /** A server other than Amazon's, as the AWS SDK's own environment names it. */
    s3Endpoint: string | undefined
    /** What was said, and where: for people to look at. */
    said: Readonly<Partial<Record<OptionName, Said>>>
  }
>

interface Said {
  text: string
  from: 'flag' | 'environment' | 'default'
}

/** Everything that is wrong with the configuration, at once. */
export class ConfigMistakes extends Error {
  override name = 'ConfigMistakes'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)
export const flagOf = (name: OptionName): string => `--${kebab(name)}`
export const variableOf = (name: OptionName): string =>
  `GODWIT_${kebab(name).replaceAll('-', '_').toUpperCase()}`

type Texts = Partial<Record<OptionName, string>>
export type Environment = Readonly<Record<string, string | undefined>>

/** Flags win over the environment, the environment over defaults. */
export function readConfig(flags: Texts, env: Environment): Config {
  const mistakes = unknownVariables(env)
  const values: Record<string, unknown> = {}
  const said: Partial<Record<OptionName, Said>> = {}
  for (const name of optionNames) {
    const saying = saidFor(name, flags, env)
    if (!saying) continue
    said[name] = saying
    try {
      values[name] = options[name].read(saying.text)
    } catch (error) {
      const spelt = saying.from === 'environment' ? variableOf(name) : flagOf(name)
      mistakes.push(`${spelt}: ${(error as Error).message}`)
    }
  }
  for (const { name, why } of disagreements(values)) mistakes.push(`${flagOf(name)}: ${why}`)
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes)
  return Object.freeze({
    ...derivedAddresses(values as Partial<Config> & Pick<Config, 'listen'>),
    ...values,
    searchPath: env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    s3Endpoint: env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL,
    said: Object.freeze(said),
  }) as Config
}

function saidFor(name: OptionName, flags: Texts, env: Environment): Said | undefined {
  const flag = flags[name]
  if (flag !== undefined) return { text: flag, from: 'flag' }
  // An empty variable is how a shell or a unit file says "not set".
  const variable = env[variableOf(name)]
  if (variable) return { text: variable, from: 'environment' }
  const { fallback } = optionOf(name)
  return fallback === undefined ? undefined : { text: fallback, from: 'default' }
}

/** Read by client-config.ts; a server started in the same shell has no use for them. */
const CLIENT_VARIABLES = [
  'GODWIT_URL',
  'GODWIT_TOKEN_FILE',
  'GODWIT_TOKEN',
  'GODWIT_WEBHOOK_SECRET',
]

/** A misspelt variable would otherwise be a setting that silently does nothing. */
function unknownVariables(env: Environment): string[] {
  const known = new Set([...optionNames.map(variableOf), ...CLIENT_VARIABLES])
  return (
    Object.keys(env)
      .filter((name) => name.startsWith('GODWIT_') && !known.has(name))
      // Those of the test suite are none of ours.
      .filter((name) => !/^GODWIT_(TEST|WIRE)_/.test(name))
      .map((name) => `${name}: unknown setting`)
  )
}

function derivedAddresses(values: Partial<Config> & { listen: Listen }): Pick<Config, Derived> {
  const { host, port } = values.listen
  const shownHost = host.includes(':') ? `[${host}]` : host
  const baseUrl = values.baseUrl ?? `http://${shownHost}:${port}`
  const webUrl = values.webUrl ?? `${baseUrl}/{owner}/{name}`
  const webHost = new URL(webUrl).hostname
  return {
    baseUrl,
    webUrl,
    cloneUrl: values.cloneUrl ?? `${webUrl}.git`,
    sshUrl: values.sshUrl ?? `git@${webHost}:{owner}/{name}.git`,
  }
}

/**
 * The settings for an archive that is made without a server. Records are known by their addresses, and that of a server that
 * nobody named would be the same on every machine: two hosts' archives would collide. `guessed` is the address that was
 * taken instead, where it was nobody's word either.
 */
export function settingsForExport(
  config: Config,
  machineName: string,
): { config: Config; guessed: string | undefined } {
  const { said, hostName } = config
  if (said.baseUrl || said.webUrl) return { config, guessed: undefined }
  const host = hostName ?? asHostName(machineName)
  const given = said.cloneUrl ? { cloneUrl: config.cloneUrl } : {}
  const baseUrl = `https://${host}`
  const addresses = derivedAddresses({ ...given, listen: config.listen, baseUrl })
  const sshUrl = said.sshUrl ? config.sshUrl : addresses.sshUrl
  return {
    config: Object.freeze({ ...config, ...addresses, sshUrl }),
    guessed: hostName === undefined ? baseUrl : undefined,
  }
}

/** Machines may be called what no address can hold. */
function asHostName(machineName: string): string {
  const name = machineName.toLowerCase().replace(/[^a-z0-9.-]+/g, '-')
  return name.replace(/^[.-]+|[.-]+$/g, '') || 'localhost'
}

/** One line a setting: what it is, and who said so. */
export function describeConfig(config: Config): string {
  return optionNames.map((name) => `${flagOf(name).padEnd(24)} ${shown(name, config)}`).join('\n')
}

function shown(name: OptionName, config: Config): string {
  const said = config.said[name]
  if (!said) return config[name] === undefined ? '(not set)' : `${config[name]} (default)`
  const { secret } = optionOf(name)
  return `${secret ? withoutPassword(said.text) : said.text} (${said.from})`
}

/** An address of a database, fit to be shown. */
export function withoutPassword(address: string): string {
  const url = new URL(address)
  if (url.password) url.password = '***'
  // libpq takes a password here too.
  url.search = ''
  return url.href
}
