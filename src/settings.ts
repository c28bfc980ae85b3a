import { availableParallelism } from 'node:os'
import {
  addressTemplate,
  bucketAddress,
  duration,
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

export interface Option<T> {
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
export const options = {
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
  maxUnfinishedMigrations: {
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
  maxRequests: {
    argument: 'N',
    about: 'how many requests a process works on at a time; more are answered 503',
    read: wholeNumber(1, 1_000_000),
    fallback: '1000',
  },
  maxStreams: {
    argument: 'N',
    about: 'how many downloads and event streams a process serves at a time',
    read: wholeNumber(1, 1_000_000),
    fallback: '2000',
  },
  maxStreamsPerAccount: {
    argument: 'N',
    about: 'how many of these one account may have at a time; more are answered 429',
    read: wholeNumber(1, 1_000_000),
    otherwise: 'a tenth of them',
  },
  clientTimeout: {
    argument: 'DURATION',
    about: 'how long a client may take to send a request, or to take the next bytes of a stream',
    read: lifetime,
    fallback: '1m',
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
  lfsDirectory: {
    argument: 'DIR',
    about:
      'where LFS objects are that are not in the repositories, as ab/cd/OID or ab/cd/REST-OF-OID',
    read: path,
  },
  gitTimeout: {
    argument: 'DURATION',
    about: 'after how long a git that does nothing at all is stopped, and its repository reported',
    read: lifetime,
    fallback: '10m',
  },
  logLevel: {
    argument: 'LEVEL',
    about: 'the least serious messages that are logged',
    read: oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    fallback: 'info',
  },
} satisfies Record<string, Option<unknown>>
