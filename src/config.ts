import { availableParallelism } from 'node:os'
import {
  addressTemplate,
  bucketAddress,
  duration,
  type Listen,
  lifetime,
  listen,
  networks,
  nonEmpty,
  oneOf,
  path,
  postgresAddress,
  timeZone,
  vendorName,
  webAddress,
  webAddressTemplate,
  wholeNumber,
} from './config-values.ts'

interface Option<T> {
  argument: string
  about: string
  read: (text: string) => T
  /** Read like any other text. Absent where the option may be left out, or its default comes from other options. */
  fallback?: string
  /** Said of the default where it is not a fixed text. */
  otherwise?: string
  secret?: boolean
}

/** Every setting there is. Flags, environment variables, `godwit config` and the README's table all come from here. */
const options = {
  data: {
    argument: 'DIR',
    about: 'where Godwit keeps its database, archives and scratch files',
    read: path,
    fallback: './var',
  },
  repositories: {
    argument: 'DIR',
    about: 'the git host to serve: bare repositories as OWNER/NAME.git',
    read: path,
  },
  listen: {
    argument: 'HOST:PORT',
    about: 'where the API listens',
    read: listen,
    fallback: '127.0.0.1:3000',
  },
  role: {
    argument: 'all|api',
    about: 'what `serve` runs: the API with the exporter, or the API alone beside `work` processes',
    read: oneOf('all', 'api'),
    fallback: 'all',
  },
  baseUrl: {
    argument: 'URL',
    about: 'the address clients reach the API at',
    read: webAddress,
    otherwise: 'made from --listen',
  },
  webUrl: {
    argument: 'TEMPLATE',
    about: "a repository's page, with {owner} and {name}",
    read: webAddressTemplate,
    otherwise: 'BASE-URL/{owner}/{name}',
  },
  cloneUrl: {
    argument: 'TEMPLATE',
    about: 'where a repository is cloned from over HTTP',
    read: webAddressTemplate,
    otherwise: 'WEB-URL.git',
  },
  sshUrl: {
    argument: 'TEMPLATE',
    about: 'where a repository is cloned from over ssh',
    read: addressTemplate,
    otherwise: 'git@HOST:{owner}/{name}.git',
  },
  vendor: {
    argument: 'NAME',
    about: 'the word in media types and headers: application/vnd.NAME.v3+json',
    read: vendorName,
    fallback: 'github',
  },
  preview: {
    argument: 'required|optional',
    about: 'whether callers must ask for the migrations preview by its media type',
    read: oneOf('required', 'optional'),
    fallback: 'required',
  },
  databaseUrl: {
    argument: 'postgres://…',
    about: 'PostgreSQL instead of the embedded SQLite',
    read: postgresAddress,
    secret: true,
  },
  blobs: {
    argument: 's3://BUCKET/PREFIX',
    about: 'an S3 bucket instead of the data directory for what is exported',
    read: bucketAddress,
  },
  s3PublicEndpoint: {
    argument: 'URL',
    about: 'where clients reach the bucket, if not where Godwit does',
    read: webAddress,
  },
  downloads: {
    argument: 'redirect|proxy',
    about: 'whether archives in a bucket are fetched from there or through the API',
    read: oneOf('redirect', 'proxy'),
    fallback: 'redirect',
  },
  timeZone: {
    argument: 'ZONE',
    about: "the zone of migrations' timestamps",
    read: timeZone,
    fallback: 'UTC',
  },
  trustedProxies: {
    argument: 'LIST',
    about: 'proxies whose x-forwarded-for is believed: addresses or networks, by commas',
    read: networks,
  },
  unfinishedMigrations: {
    argument: 'N',
    about: 'how many unfinished migrations an account may have',
    read: wholeNumber(1, 10_000),
    fallback: '10',
  },
  rateLimit: {
    argument: 'N',
    about: 'how many requests an account may make in an hour; 0 for no limit',
    read: wholeNumber(0, 1_000_000_000),
    fallback: '5000',
  },
  archiveTtl: {
    argument: 'DURATION',
    about: 'how long an archive can be downloaded',
    read: lifetime,
    fallback: '7d',
  },
  segmentTtl: {
    argument: 'DURATION',
    about: "how long a repository's exported bytes are kept for reuse when no archive names them",
    read: lifetime,
    fallback: '30d',
  },
  lockTtl: {
    argument: 'DURATION',
    about: 'after how long a locked repository opens by itself',
    read: lifetime,
    fallback: '24h',
  },
  concurrency: {
    argument: 'N',
    about: 'how many repositories are exported at a time',
    read: wholeNumber(1, 256),
    fallback: String(availableParallelism()),
  },
  syncInterval: {
    argument: 'DURATION',
    about: 'how often a server looks for new and changed repositories; 0 for only at start',
    read: duration,
    fallback: '5m',
  },
  git: {
    argument: 'FILE',
    about: 'the git program, 2.30 or newer',
    read: nonEmpty,
    fallback: 'git',
  },
  logLevel: {
    argument: 'LEVEL',
    about: 'the least serious messages that are logged',
    read: oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    fallback: 'info',
  },
} satisfies Record<string, Option<unknown>>

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
type Environment = Readonly<Record<string, string | undefined>>

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

/** A misspelt variable would otherwise be a setting that silently does nothing. */
function unknownVariables(env: Environment): string[] {
  const known = new Set(optionNames.map(variableOf))
  return (
    Object.keys(env)
      .filter((name) => name.startsWith('GODWIT_') && !known.has(name))
      // Those of the test suite are none of ours.
      .filter((name) => !/^GODWIT_(TEST|WIRE)_/.test(name))
      .map((name) => `${name}: no such setting`)
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

function withoutPassword(address: string): string {
  const url = new URL(address)
  if (url.password) url.password = '***'
  // libpq takes a password here too.
  url.search = ''
  return url.href
}
