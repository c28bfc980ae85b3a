import { availableParallelism } from 'node:os'
import {
  addressTemplate,
  bucketAddress,
  byteLimit,
  claimValues,
  duration,
  durationOrZero,
  durationUpTo,
  headerName,
  hostName,
  issuerAddress,
  listen,
  login,
  networks,
  nonEmpty,
  oneOf,
  origins,
  path,
  postgresAddress,
  timeZone,
  vendorName,
  version,
  webAddress,
  webAddressTemplate,
  wholeNumber,
} from './config-values.ts'

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

/** All settings. Flags, environment variables, `godwit config` and the table in docs/SETTINGS.md are generated from this. */
export const options = {
  data: {
    argument: 'DIR',
    about: 'directory for the database, archives and temporary files',
    read: path,
    defaultValue: './var',
  },
  repositories: {
    argument: 'DIR',
    about: 'directory of the bare repositories to serve',
    read: path,
  },
  layout: {
    argument: 'owner/name|flat|any-depth',
    about:
      'where repositories are: at OWNER/NAME.git, at NAME.git (all owned by --owner), or at any depth: the first directory is the owner, the rest joined by - is the name',
    read: oneOf('owner/name', 'flat', 'any-depth'),
    defaultValue: 'owner/name',
  },
  owner: {
    argument: 'LOGIN',
    about: 'owner of the repositories that are not in the directory of an owner (flat, any-depth)',
    read: login,
  },
  listen: {
    argument: 'HOST:PORT',
    about: 'address and port of the API',
    read: listen,
    defaultValue: '127.0.0.1:3000',
  },
  role: {
    argument: 'all|api',
    about:
      'what `serve` runs: the API and the exporter (all), or only the API (api), with `work` processes as exporters',
    read: oneOf('all', 'api'),
    defaultValue: 'all',
  },
  baseUrl: {
    argument: 'URL',
    about: 'public address of the API',
    read: webAddress,
    defaultDescription: 'from --listen',
  },
  hostName: {
    argument: 'NAME',
    about:
      'name of this host in the archives of `export`, if neither --base-url nor --web-url is set',
    read: hostName,
    defaultDescription: "the machine's name",
  },
  webUrl: {
    argument: 'TEMPLATE',
    about: "address of a repository's web page, with {owner} and {name}",
    read: webAddressTemplate,
    defaultDescription: 'BASE-URL/{owner}/{name}',
  },
  cloneUrl: {
    argument: 'TEMPLATE',
    about:
      'address to clone a repository from over HTTP; Godwit itself serves BASE-URL/{owner}/{name}.git',
    read: webAddressTemplate,
    defaultDescription: 'WEB-URL.git',
  },
  sshUrl: {
    argument: 'TEMPLATE',
    about: 'address to clone a repository from over SSH',
    read: addressTemplate,
    defaultDescription: 'git@HOST:{owner}/{name}.git, with the host of --web-url',
  },
  vendor: {
    argument: 'NAME',
    about: 'vendor name in media types and headers: application/vnd.NAME.v3+json',
    read: vendorName,
    defaultValue: 'github',
  },
  preview: {
    argument: 'required|optional',
    about: 'whether clients must send the media type of the migrations preview',
    read: oneOf('required', 'optional'),
    defaultValue: 'required',
  },
  installedVersion: {
    argument: 'X.Y.Z',
    about:
      'version of GitHub Enterprise Server that `/meta` reports to clients; from 3.8.0 on, GitHub downloads the archives itself; 3.13.0 or newer for the largest archives',
    read: version,
  },
  databaseUrl: {
    argument: 'postgres://…',
    about: 'use this PostgreSQL database instead of the embedded SQLite',
    read: postgresAddress,
    secret: true,
  },
  blobs: {
    argument: 's3://BUCKET/PREFIX',
    about: 'store archives in this S3 bucket instead of the data directory',
    read: bucketAddress,
  },
  s3PublicEndpoint: {
    argument: 'URL',
    about: 'public address of the bucket, if clients use another one than Godwit',
    read: webAddress,
  },
  downloads: {
    argument: 'redirect|proxy',
    about:
      'whether clients download archives from the bucket (redirect) or through the API (proxy)',
    read: oneOf('redirect', 'proxy'),
    defaultValue: 'redirect',
  },
  timeZone: {
    argument: 'ZONE',
    about: 'time zone of the timestamps of migrations',
    read: timeZone,
    defaultValue: 'UTC',
  },
  trustedProxies: {
    argument: 'LIST',
    about:
      'proxies whose x-forwarded-for header is trusted: addresses or networks, separated by commas',
    read: networks,
    isList: true,
  },
  webhookNetworks: {
    argument: 'LIST',
    about:
      'private networks that webhooks may be sent to: addresses or networks, separated by commas',
    read: networks,
  },
  maxUnfinishedMigrations: {
    argument: 'N',
    about: 'maximum number of unfinished migrations per account or organization',
    read: wholeNumber(1, 10_000),
    defaultValue: '10',
  },
  maxSchedules: {
    argument: 'N',
    about: 'maximum number of schedules per account or organization; 0 for none',
    read: wholeNumber(0, 10_000),
    defaultValue: '20',
  },
  maxTokens: {
    argument: 'N',
    about:
      'maximum number of valid tokens per account, after which it can create no more; 0 lets nobody create tokens',
    read: wholeNumber(0, 10_000),
    defaultValue: '20',
  },
  maxArchiveBytes: {
    argument: 'BYTES',
    about:
      'what the archives of one account or organization may add up to, such as 50G; `godwit account edit` sets it for one of them',
    read: byteLimit,
    defaultValue: 'none',
  },
  rateLimit: {
    argument: 'N',
    about: 'maximum number of requests per account per hour; 0 for no limit',
    read: wholeNumber(0, 1_000_000_000),
    defaultValue: '5000',
  },
  maxRequests: {
    argument: 'N',
    about: 'maximum number of concurrent requests per process; further requests get status 503',
    read: wholeNumber(1, 1_000_000),
    defaultValue: '1000',
  },
  maxStreams: {
    argument: 'N',
    about: 'maximum number of concurrent downloads and event streams per process',
    read: wholeNumber(1, 1_000_000),
    defaultValue: '2000',
  },
  maxStreamsPerAccount: {
    argument: 'N',
    about:
      'maximum number of concurrent downloads and event streams per account; further ones get status 429',
    read: wholeNumber(1, 1_000_000),
    defaultDescription: 'a tenth of --max-streams',
  },
  maxClones: {
    argument: 'N',
    about:
      'maximum number of concurrent git processes that serve clones; further requests wait for 45 seconds, then get status 503; 0 to serve no clones',
    read: wholeNumber(0, 10_000),
    defaultValue: String(4 * availableParallelism()),
  },
  clientTimeout: {
    argument: 'DURATION',
    about: 'how long a client may take to send a request, or to read the next bytes of a stream',
    read: duration,
    defaultValue: '1m',
  },
  archiveTtl: {
    argument: 'DURATION',
    about: 'how long an archive is kept',
    read: duration,
    defaultValue: '7d',
  },
  linkTtl: {
    argument: 'DURATION',
    about: 'how long a download link is valid, at most 7d',
    read: durationUpTo('7d'),
    defaultValue: '5m',
  },
  sessionTtl: {
    argument: 'DURATION',
    about: 'how long a browser stays signed in',
    read: duration,
    defaultValue: '12h',
  },
  segmentTtl: {
    argument: 'DURATION',
    about:
      'how long the exported data of a repository is kept for reuse when no archive contains it',
    read: duration,
    defaultValue: '30d',
  },
  segmentCheckAge: {
    argument: 'DURATION',
    about:
      'how long a comparison of stored data with its checksum stays valid; then it is repeated, in the background and before reuse',
    read: duration,
    defaultValue: '7d',
  },
  migrationHistory: {
    argument: 'DURATION',
    about:
      'how long a migration is listed after its end; those with an archive, and the runs that a schedule lists, stay longer; 0 to keep it for ever',
    read: durationOrZero,
    defaultValue: '365d',
  },
  auditRetention: {
    argument: 'DURATION',
    about: 'how long the audit log is kept',
    read: duration,
    defaultValue: '400d',
  },
  lockTtl: {
    argument: 'DURATION',
    about: 'how long until a lock expires',
    read: duration,
    defaultValue: '24h',
  },
  concurrency: {
    argument: 'N',
    about: 'number of repositories exported at the same time',
    read: wholeNumber(1, 256),
    defaultValue: String(availableParallelism()),
  },
  syncInterval: {
    argument: 'DURATION',
    about: 'how often the catalogue is synchronized; 0: only at startup',
    read: durationOrZero,
    defaultValue: '5m',
  },
  git: {
    argument: 'FILE',
    about: 'git program, version 2.30 or newer',
    read: nonEmpty,
    defaultValue: 'git',
  },
  lfsDirectory: {
    argument: 'DIR',
    about:
      'directory of LFS objects that are stored outside the repositories, as ab/cd/OID or ab/cd/REST-OF-OID',
    read: path,
  },
  forge: {
    argument: 'URL',
    about:
      'Gitea or Forgejo that serves the repositories; its issues, pull requests and other records are exported as well',
    read: webAddress,
  },
  forgeTokenFile: {
    argument: 'FILE',
    about: 'file with an access token of an administrator of the forge',
    read: path,
  },
  forgeRateLimit: {
    argument: 'N',
    about: 'maximum number of requests per minute to the forge, of all processes together',
    read: wholeNumber(10, 1_000_000),
    defaultValue: '3000',
  },
  forgeStorageOrigins: {
    argument: 'LIST',
    about:
      'object storages that the forge sends downloads on to (SERVE_DIRECT): origins such as https://s3.example.com, separated by commas; the token is not sent there',
    read: origins,
  },
  oidcIssuer: {
    argument: 'URL',
    about: 'OpenID provider that people sign in with on the dashboard',
    read: issuerAddress,
  },
  oidcClientId: {
    argument: 'ID',
    about: 'ID of Godwit as a client of the OpenID provider',
    read: nonEmpty,
  },
  oidcClientSecretFile: {
    argument: 'FILE',
    about: 'file with the secret of Godwit as a client of the OpenID provider',
    read: path,
  },
  oidcName: {
    argument: 'TEXT',
    about: 'name of the OpenID provider on the sign-in button',
    read: nonEmpty,
    defaultValue: 'single sign-on',
  },
  oidcLoginClaim: {
    argument: 'CLAIM',
    about: 'claim that names the account at the first sign-in',
    read: nonEmpty,
    defaultValue: 'preferred_username',
  },
  oidcRequire: {
    argument: 'CLAIM=VALUE',
    about:
      'claims that everybody who signs in must have, for example groups=staff; may be repeated, or separated by commas',
    read: claimValues,
    isList: true,
  },
  oidcAdmin: {
    argument: 'CLAIM=VALUE',
    about:
      'claims that make somebody who signs in a site admin, and without which nobody stays one; may be repeated, or separated by commas',
    read: claimValues,
    isList: true,
  },
  oidcCreate: {
    argument: 'yes|no',
    about:
      'whether somebody whose login owns no repository, and who is no member or collaborator, gets an account at the first sign-in; also for --user-header',
    read: oneOf('yes', 'no'),
    defaultValue: 'no',
  },
  userHeader: {
    argument: 'NAME',
    about:
      'header in which a proxy of --trusted-proxies names the person whom it has authenticated, for the dashboard; the proxy must remove it from requests of clients',
    read: headerName,
  },
  gitTimeout: {
    argument: 'DURATION',
    about:
      'how long a git process may make no progress before it is stopped and its repository fails',
    read: duration,
    defaultValue: '10m',
  },
  gitMemory: {
    argument: 'MIB',
    about:
      'how much memory a git process may use, not counting memory-mapped files, before it is stopped and its repository fails',
    read: wholeNumber(64, 16_777_216),
    defaultDescription: 'half of the memory of the machine or container',
  },
  logLevel: {
    argument: 'trace|debug|info|warn|error|silent',
    about: 'lowest level of the messages that are logged',
    read: oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    defaultValue: 'info',
  },
  logFormat: {
    argument: 'auto|json|text',
    about:
      'format of the log: JSON, or readable lines (text); auto: readable on a terminal, else JSON',
    read: oneOf('auto', 'json', 'text'),
    defaultValue: 'auto',
  },
} satisfies Record<string, Option<unknown>>

/** Settings of client commands, about their server. */
export const clientOptions = {
  url: {
    argument: 'URL',
    about: 'base URL of the API',
    read: webAddress,
  },
  tokenFile: {
    argument: 'FILE',
    about: 'file with the access token',
    read: path,
  },
  token: {
    argument: 'TOKEN',
    about: 'the token itself; every user of this machine can see it',
    read: nonEmpty,
    secret: true,
  },
} satisfies Record<string, Option<unknown>>
