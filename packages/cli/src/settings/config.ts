import { ConfigError } from '@godwit/lib/user-error'
import { didYouMean } from './closest-name.ts'
import { type ConfigFile, mistakesIn } from './config-file.ts'
import type { Listen } from './config-values.ts'
import {
  allNames,
  type Environment,
  flagOf,
  labelOf,
  type OptionName,
  optionNames,
  optionOf,
  originOf,
  type SettingOrigin,
  variableOf,
} from './setting-names.ts'
import { options } from './settings.ts'

type Options = typeof options
type Value<N extends OptionName> = ReturnType<Options[N]['read']>
type Derived = 'baseUrl' | 'webUrl' | 'cloneUrl' | 'sshUrl'
type AlwaysSet = {
  [N in OptionName]: Options[N] extends { defaultValue: string } ? N : never
}[OptionName]

/** The values of the settings `S`. */
export type Config<S extends OptionName = OptionName> = Readonly<
  {
    [N in S]: N extends AlwaysSet | Derived ? Value<N> : Value<N> | undefined
  } & {
    /** PATH, for git. */
    searchPath: string
    /** The endpoint of an S3 server other than Amazon's, from the variables of the AWS SDK. */
    s3Endpoint: string | undefined
    /** Whether `sshUrl` was set. */
    servesSsh: boolean
    /** The text of each setting and where it comes from; undefined for derived and unset ones. */
    origins: Readonly<Partial<Record<OptionName, SettingOrigin>>>
    /** The configuration file, without its settings, which may be secrets. */
    file: Pick<ConfigFile, 'path' | 'from' | 'isDenied' | 'exposedSecrets'> | undefined
  }
>

type Texts = Partial<Record<OptionName, string>>

interface ReadOptions<S extends OptionName> {
  file?: ConfigFile | undefined
  /** Only these settings are read, and the values of others do not matter. By default all. */
  settings?: readonly S[]
}

/** Reads settings from flags, else the environment, else the file, else the defaults. Throws one error that lists all mistakes. */
export function readConfig<S extends OptionName = OptionName>(
  flags: Texts,
  env: Environment,
  { file, settings }: ReadOptions<S> = {},
): Config<S> {
  const names: readonly OptionName[] = settings ?? optionNames
  const mistakes = [...unknownVariables(env), ...mistakesIn(file, names)]
  const values: Record<string, unknown> = {}
  const origins: Partial<Record<OptionName, SettingOrigin>> = {}
  for (const name of names) {
    const { defaultValue: text } = optionOf(name)
    const byDefault = text === undefined ? undefined : ({ text, from: 'default' } as const)
    const origin = originOf(name, flags[name], env, file) ?? byDefault
    if (!origin) continue
    origins[name] = origin
    try {
      values[name] = options[name].read(origin.text)
    } catch (error) {
      mistakes.push(`${labelOf(name, origin)}: ${(error as Error).message}`)
    }
  }
  for (const { name, why } of conflicts(values as Partial<Config>)) {
    // An invalid value is a mistake already.
    if (!names.includes(name) || (origins[name] && !(name in values))) continue
    mistakes.push(`${origins[name] ? labelOf(name, origins[name]) : flagOf(name)}: ${why}`)
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return Object.freeze({
    ...(names.includes('listen') && derivedAddresses(values as Addresses)),
    ...values,
    searchPath: env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    s3Endpoint: env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL,
    servesSsh: origins.sshUrl !== undefined,
    origins: Object.freeze(origins),
    file: file && describeFile(file),
  }) as Config<S>
}

const describeFile = ({ settings, mistakes, ...file }: ConfigFile): Config['file'] => file

/** Reports misspelt variables, which would otherwise be ignored silently. */
function unknownVariables(env: Environment): string[] {
  // Variables of client commands may be set in the same shell.
  const others = ['GODWIT_CONFIG', 'GODWIT_TO_DATABASE_URL', 'GODWIT_WEBHOOK_SECRET']
  const known = new Set([...others, ...allNames.map(variableOf)])
  return (
    Object.keys(env)
      .filter((name) => name.startsWith('GODWIT_') && !known.has(name))
      // These belong to the test suite.
      .filter((name) => !/^GODWIT_(TEST|WIRE)_/.test(name))
      .map((name) => `${name}: unknown setting${didYouMean(name, known)}`)
  )
}

type Addresses = { listen: Listen } & Partial<Config<Derived>>

function derivedAddresses(values: Addresses): Pick<Config, Derived> {
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
 * Returns the settings for an archive that is written without a server. Records in an archive are identified by their
 * addresses, so the default address would make archives of two hosts collide. `guessed` is the address that is used instead,
 * if it comes from the machine's name.
 */
export function settingsForExport<C extends Config<Derived | 'listen' | 'hostName'>>(
  config: C,
  machineName: string,
) {
  const { origins, hostName } = config
  if (origins.baseUrl || origins.webUrl) return { config, guessed: undefined }
  const host = hostName ?? asHostName(machineName)
  const explicit = origins.cloneUrl ? { cloneUrl: config.cloneUrl } : {}
  const baseUrl = `https://${host}`
  const addresses = derivedAddresses({ ...explicit, listen: config.listen, baseUrl })
  const sshUrl = origins.sshUrl ? config.sshUrl : addresses.sshUrl
  return {
    config: Object.freeze({ ...config, ...addresses, sshUrl }),
    guessed: hostName === undefined ? baseUrl : undefined,
  }
}

/** Replaces characters that a host name must not contain. */
function asHostName(machineName: string): string {
  const name = machineName.toLowerCase().replace(/[^a-z0-9.-]+/g, '-')
  return name.replace(/^[.-]+|[.-]+$/g, '') || 'localhost'
}

/** Finds settings whose values are valid, but not together. */
function conflicts(values: Partial<Config>): { name: OptionName; why: string }[] {
  const { layout, owner } = values
  const found: { name: OptionName; why: string }[] = []
  const add = (name: OptionName, why: string) => found.push({ name, why })
  if (layout === 'flat' && owner === undefined) add('owner', 'must be set with --layout flat')
  if (layout === 'owner/name' && owner !== undefined)
    add('owner', 'is only for --layout flat and any-depth')
  const oidc = ['oidcIssuer', 'oidcClientId', 'oidcClientSecretFile'] as const
  const isOidcSet = oidc.some((name) => values[name] !== undefined)
  for (const name of oidc) {
    if (isOidcSet && values[name] === undefined)
      add(name, `is missing: ${oidc.map(flagOf).join(', ')} belong together`)
  }
  if (values.userHeader !== undefined && values.trustedProxies === undefined)
    add('userHeader', 'needs --trusted-proxies: only they may send the header')
  for (const name of ['webUrl', 'cloneUrl', 'sshUrl'] as const) {
    // With --layout flat there is only one owner.
    if (layout !== 'flat' && values[name]?.includes('{owner}') === false)
      add(name, 'must contain {owner} and {name}')
  }
  return found
}
