import { didYouMean } from '../lib/closest-name.ts'
import { ConfigError } from '../lib/user-error.ts'
import type { ConfigFile } from './config-file.ts'
import type { Listen } from './config-values.ts'
import {
  allNames,
  flagOf,
  type OptionName,
  optionNames,
  optionOf,
  variableOf,
} from './setting-names.ts'
import { type Environment, type Said, saidOf, spellingOf } from './setting-origin.ts'
import { options } from './settings.ts'

type Options = typeof options
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
    file: ReadFile | undefined
  }
>

/** The file that was read, or that this user may not read; without its settings, which may be secrets. */
type ReadFile = Pick<ConfigFile, 'path' | 'from' | 'isDenied' | 'exposedSecrets'>

type Texts = Partial<Record<OptionName, string>>

/** Flags win over the environment, the environment over the file, the file over defaults. */
export function readConfig(flags: Texts, env: Environment, file?: ConfigFile): Config {
  const mistakes = [...unknownVariables(env), ...(file?.mistakes ?? [])]
  const values: Record<string, unknown> = {}
  const said: Partial<Record<OptionName, Said>> = {}
  for (const name of optionNames) {
    const saying = saidOf(name, flags[name], env, file) ?? standard(name)
    if (!saying) continue
    said[name] = saying
    try {
      values[name] = options[name].read(saying.text)
    } catch (error) {
      mistakes.push(`${spellingOf(name, saying)}: ${(error as Error).message}`)
    }
  }
  for (const { name, why } of disagreements(values))
    mistakes.push(`${said[name] ? spellingOf(name, said[name]) : flagOf(name)}: ${why}`)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return Object.freeze({
    ...derivedAddresses(values as Partial<Config> & Pick<Config, 'listen'>),
    ...values,
    searchPath: env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    s3Endpoint: env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL,
    said: Object.freeze(said),
    file: file && withoutSettings(file),
  }) as Config
}

function withoutSettings({ path, from, isDenied, exposedSecrets }: ConfigFile): ReadFile {
  return { path, from, isDenied, exposedSecrets }
}

function standard(name: OptionName): Said | undefined {
  const { fallback } = optionOf(name)
  return fallback === undefined ? undefined : { text: fallback, from: 'default' }
}

/** A misspelt variable would otherwise be a setting that silently does nothing. */
function unknownVariables(env: Environment): string[] {
  // A server has no use for what its client is told in the same shell.
  const others = ['GODWIT_CONFIG', 'GODWIT_WEBHOOK_SECRET']
  const known = new Set([...others, ...allNames.map(variableOf)])
  return (
    Object.keys(env)
      .filter((name) => name.startsWith('GODWIT_') && !known.has(name))
      // Those of the test suite are none of ours.
      .filter((name) => !/^GODWIT_(TEST|WIRE)_/.test(name))
      .map((name) => `${name}: unknown setting${didYouMean(name, known)}`)
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

interface Together {
  layout?: string
  owner?: string
  webUrl?: string
  cloneUrl?: string
  sshUrl?: string
}

/** What is wrong with settings that are right each by itself, by the name of the setting. */
function disagreements(values: Together): { name: keyof Together; why: string }[] {
  const { layout, owner } = values
  const found: { name: keyof Together; why: string }[] = []
  if (layout === 'flat' && owner === undefined)
    found.push({ name: 'owner', why: 'must be set with --layout flat' })
  if (layout === 'owner/name' && owner !== undefined)
    found.push({ name: 'owner', why: 'is only for --layout flat and any-depth' })
  for (const name of ['webUrl', 'cloneUrl', 'sshUrl'] as const) {
    // Where there is one owner, nobody need be told.
    if (layout !== 'flat' && values[name] !== undefined && !values[name].includes('{owner}'))
      found.push({ name, why: 'must contain {owner} and {name}' })
  }
  return found
}
