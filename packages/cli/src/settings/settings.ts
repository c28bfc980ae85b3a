import { availableParallelism } from 'node:os'
import * as values from './config-values.ts'

export interface Option<T> {
  argument: string
  about: string
  read: (text: string) => T
  /** The default, parsed like any other text. Absent if the setting is optional or derived from others. */
  defaultValue?: string
  /** Describes a default that is not a fixed text. */
  defaultDescription?: string
  /** Whether a flag may be repeated, and a configuration file may spread the list over several lines. */
  isList?: boolean
  /** Whether the value is never printed in full. */
  secret?: boolean
}

/** What only some settings have. */
type Special = Pick<Option<unknown>, 'defaultValue' | 'defaultDescription' | 'isList' | 'secret'>

/**
 * A kind of settings: the placeholder of the value, its parser and what all of the kind have in common. `about` returns a setting
 * of the kind, with what is special about it.
 */
const kind = <T, C extends Special>(
  argument: string,
  read: (text: string) => T,
  common = {} as C,
) => ({
  about: <S extends Special>(about: string, special = {} as S) => ({
    argument,
    read,
    about,
    ...common,
    ...special,
  }),
})

const DIRECTORY = kind('DIR', values.path)
const FILE = kind('FILE', values.path)
const WEB_ADDRESS = kind('URL', values.webAddress)
const WEB_TEMPLATE = kind('TEMPLATE', values.webAddressTemplate)
const NETWORKS = kind('LIST', values.networks)
const CLAIMS = kind('CLAIM=VALUE', values.claimValues, { isList: true })

const lasting = (defaultValue: string, read = values.duration) =>
  kind('DURATION', read, { defaultValue })

const count = (min: number, max: number, defaultNumber: number) =>
  kind('N', values.wholeNumber(min, max), { defaultValue: String(defaultNumber) })

const choice = <const T extends string>(defaultValue: T, allowed: readonly T[]) =>
  kind(allowed.join('|'), values.oneOf(...allowed), { defaultValue })

/** All settings. Flags, environment variables, `godwit config` and the table in docs/SETTINGS.md are generated from this. */
export const options = {
  data: DIRECTORY.about('directory for the database, archives and temporary files', {
    defaultValue: './var',
  }),
  repositories: DIRECTORY.about('directory of the bare repositories to serve'),
  layout: choice('owner/name', ['owner/name', 'flat', 'any-depth']).about(
    'where repositories are: at OWNER/NAME.git, at NAME.git (all owned by --owner), or at any depth: the first directory is the owner, the rest joined by - is the name',
  ),
  owner: kind('LOGIN', values.login).about(
    'owner of the repositories that are not in the directory of an owner (flat, any-depth)',
  ),
  listen: kind('HOST:PORT', values.listen).about('address and port of the API', {
    defaultValue: '127.0.0.1:3000',
  }),
  role: choice('all', ['all', 'api']).about(
    'what `serve` runs: the API and the exporter (all), or only the API (api), with `work` processes as exporters',
  ),
  baseUrl: WEB_ADDRESS.about('public address of the API', { defaultDescription: 'from --listen' }),
  hostName: kind('NAME', values.hostName).about(
    'name of this host in the archives of `export`, if neither --base-url nor --web-url is set',
    { defaultDescription: "the machine's name" },
  ),
  webUrl: WEB_TEMPLATE.about("address of a repository's web page, with {owner} and {name}", {
    defaultDescription: 'BASE-URL/{owner}/{name}',
  }),
  cloneUrl: WEB_TEMPLATE.about(
    'address to clone a repository from over HTTP; Godwit itself serves BASE-URL/{owner}/{name}.git',
    { defaultDescription: 'WEB-URL.git' },
  ),
  sshUrl: kind('TEMPLATE', values.addressTemplate).about(
    'address to clone a repository from over SSH',
    { defaultDescription: 'git@HOST:{owner}/{name}.git, with the host of --web-url' },
  ),
  vendor: kind('NAME', values.vendorName).about(
    'vendor name in media types and headers: application/vnd.NAME.v3+json',
    { defaultValue: 'github' },
  ),
  preview: choice('required', ['required', 'optional']).about(
    'whether clients must send the media type of the migrations preview',
  ),
  installedVersion: kind('X.Y.Z', values.version).about(
    'version of GitHub Enterprise Server that `/meta` reports to clients; from 3.8.0 on, GitHub downloads the archives itself; 3.13.0 or newer for the largest archives',
  ),
  databaseUrl: kind('postgres://…', values.postgresAddress).about(
    'use this PostgreSQL database instead of the embedded SQLite',
    { secret: true },
  ),
  blobs: kind('s3://BUCKET/PREFIX', values.bucketAddress).about(
    'store archives in this S3 bucket instead of the data directory',
  ),
  s3PublicEndpoint: WEB_ADDRESS.about(
    'public address of the bucket, if clients reach it at another address than Godwit does',
  ),
  downloads: choice('redirect', ['redirect', 'proxy']).about(
    'whether clients download archives from the bucket (redirect) or through the API (proxy)',
  ),
  timeZone: kind('ZONE', values.timeZone).about('time zone of the timestamps of migrations', {
    defaultValue: 'UTC',
  }),
  trustedProxies: NETWORKS.about(
    'proxies whose x-forwarded-for header is trusted: addresses or networks, separated by commas',
    { isList: true },
  ),
  webhookNetworks: NETWORKS.about(
    'private networks that webhooks may be sent to: addresses or networks, separated by commas',
  ),
  maxUnfinishedMigrations: count(1, 10_000, 10).about(
    'maximum number of unfinished migrations per account or organization',
  ),
  maxSchedules: count(0, 10_000, 20).about(
    'maximum number of schedules per account or organization; 0 for none',
  ),
  maxTokens: count(0, 10_000, 20).about(
    'maximum number of valid tokens that an account may have; 0 disables creating tokens',
  ),
  maxArchiveBytes: kind('BYTES', values.byteLimit).about(
    'maximum total size of the archives of one account or organization, such as 50G; `godwit account edit` sets it for one of them',
    { defaultValue: 'none' },
  ),
  rateLimit: count(0, 1_000_000_000, 5000).about(
    'maximum number of requests per account per hour; 0 for no limit',
  ),
  maxRequests: count(1, 1_000_000, 1000).about(
    'maximum number of concurrent requests per process; further requests get status 503',
  ),
  maxStreams: count(1, 1_000_000, 2000).about(
    'maximum number of concurrent downloads and event streams per process',
  ),
  maxStreamsPerAccount: kind('N', values.wholeNumber(1, 1_000_000)).about(
    'maximum number of concurrent downloads and event streams per account; further ones get status 429',
    { defaultDescription: 'a tenth of --max-streams' },
  ),
  maxClones: count(0, 10_000, 4 * availableParallelism()).about(
    'maximum number of concurrent git processes that serve clones; further requests wait for 45 seconds, then get status 503; 0 to serve no clones',
  ),
  clientTimeout: lasting('1m', values.timerDuration).about(
    'how long a client may take to send a request, or to read the next bytes of a stream; at most 24d',
  ),
  archiveTtl: lasting('7d').about('how long an archive is kept'),
  linkTtl: lasting('5m', values.durationUpTo('7d')).about(
    'how long a download link is valid, at most 7d',
  ),
  sessionTtl: lasting('12h').about('how long a browser stays signed in'),
  segmentTtl: lasting('30d').about(
    'how long the exported data of a repository is kept for reuse when no archive contains it',
  ),
  segmentCheckAge: lasting('7d').about(
    'how long a comparison of stored data with its checksum stays valid; then it is repeated, in the background and before reuse',
  ),
  migrationHistory: lasting('365d', values.durationOrZero).about(
    'how long a migration is listed after its end; those with an archive, and the runs that a schedule lists, stay longer; 0 to keep it for ever',
  ),
  auditRetention: lasting('400d').about('how long the audit log is kept'),
  lockTtl: lasting('24h').about('how long until a lock expires'),
  concurrency: count(1, 256, availableParallelism()).about(
    'number of repositories exported at the same time',
  ),
  syncInterval: lasting('5m', values.orZero(values.timerDuration)).about(
    'how often the repository index is synchronized, at least every 24d; 0: only at startup',
  ),
  git: kind('FILE', values.nonEmpty).about('git program, version 2.30 or newer', {
    defaultValue: 'git',
  }),
  lfsDirectory: DIRECTORY.about(
    'directory of LFS objects that are stored outside the repositories, as ab/cd/OID or ab/cd/REST-OF-OID',
  ),
  forge: WEB_ADDRESS.about(
    'Gitea or Forgejo that serves the repositories; its issues, pull requests and other records are exported as well',
  ),
  forgeTokenFile: FILE.about('file with an access token of an administrator of the forge'),
  forgeRateLimit: count(10, 1_000_000, 3000).about(
    'maximum number of requests per minute to the forge, of all processes together',
  ),
  forgeStorageOrigins: kind('LIST', values.origins).about(
    'object storages that the forge sends downloads on to (SERVE_DIRECT): origins such as https://s3.example.com, separated by commas; the token is not sent there',
  ),
  oidcIssuer: kind('URL', values.issuerAddress).about(
    'OpenID provider that people sign in with on the dashboard',
  ),
  oidcClientId: kind('ID', values.nonEmpty).about(
    'ID of Godwit as a client of the OpenID provider',
  ),
  oidcClientSecretFile: FILE.about(
    'file with the secret of Godwit as a client of the OpenID provider',
  ),
  oidcName: kind('TEXT', values.nonEmpty).about(
    'name of the OpenID provider on the sign-in button',
    { defaultValue: 'single sign-on' },
  ),
  oidcLoginClaim: kind('CLAIM', values.nonEmpty).about(
    'claim that names the account at the first sign-in',
    { defaultValue: 'preferred_username' },
  ),
  oidcRequire: CLAIMS.about(
    'claims that everybody who signs in must have, for example groups=staff; may be repeated, or separated by commas',
  ),
  oidcAdmin: CLAIMS.about(
    'claims that make somebody a site admin at sign-in; everybody without one of them loses it; may be repeated, or separated by commas',
  ),
  oidcCreate: choice('no', ['yes', 'no']).about(
    'whether somebody whose login owns no repository, and who is no member or collaborator, gets an account at the first sign-in; also for --user-header',
  ),
  userHeader: kind('NAME', values.headerName).about(
    'header in which a proxy of --trusted-proxies names the person whom it has authenticated, for the dashboard; the proxy must remove it from requests of clients',
  ),
  gitTimeout: lasting('10m', values.timerDuration).about(
    'how long a git process may make no progress before it is stopped and its repository fails; at most 24d',
  ),
  gitMemory: kind('MIB', values.wholeNumber(64, 16_777_216)).about(
    'how much memory a git process may use, not counting memory-mapped files, before it is stopped and its repository fails',
    { defaultDescription: 'half of the memory of the machine or container' },
  ),
  logLevel: choice('info', ['trace', 'debug', 'info', 'warn', 'error', 'silent']).about(
    'lowest level of the messages that are logged',
  ),
  logFormat: choice('auto', ['auto', 'json', 'text']).about(
    'format of the log: JSON, or readable lines (text); auto: readable on a terminal, else JSON',
  ),
}

/** Settings of client commands, about their server. */
export const clientOptions = {
  url: WEB_ADDRESS.about('base URL of the API'),
  tokenFile: FILE.about('file with the access token'),
  token: kind('TOKEN', values.nonEmpty).about(
    'the token itself; every user of this machine can see it',
    { secret: true },
  ),
}
