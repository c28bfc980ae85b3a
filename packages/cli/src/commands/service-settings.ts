import type { ServiceSettings } from '@godwit/server'
import type { SourceSettings } from '@godwit/server/service/data-paths'
import type { LogSettings } from '@godwit/server/service/log'
import type { ForgeSettings } from '@godwit/server/service/open-configured-forge'
import type { DatabaseSettings } from '@godwit/server/service/open-database'
import type { WorkerSettings } from '@godwit/server/service/start-exporter'
import type { Config } from '../settings/config.ts'

// The settings that several commands declare. The types of the service reject a setting that it does not use.

/** The database. It also says where the archives are: after they were moved, the database may not be used. */
export const DATABASE = [
  ...['data', 'databaseUrl', 'blobs'],
] as const satisfies readonly (keyof DatabaseSettings)[]

/** The repositories on disk. */
export const SOURCE = [
  ...['data', 'repositories', 'layout', 'owner', 'forge', 'lfsDirectory'],
  ...['git', 'gitTimeout', 'gitMemory'],
] as const satisfies readonly (keyof SourceSettings | 'repositories')[]

export const FORGE = [
  ...['forge', 'forgeTokenFile', 'forgeRateLimit', 'forgeStorageOrigins'],
] as const satisfies readonly (keyof ForgeSettings)[]

/** The public addresses. By default they follow from `listen`. */
export const ADDRESSES = ['listen', 'baseUrl', 'webUrl', 'cloneUrl', 'sshUrl'] as const

export const WORK = [
  ...DATABASE,
  ...SOURCE,
  ...FORGE,
  ...ADDRESSES,
  ...['syncInterval', 'concurrency', 'downloads', 'timeZone', 'webhookNetworks'],
  ...['segmentTtl', 'segmentCheckAge', 'archiveTtl', 'auditRetention', 'lockTtl'],
  ...['migrationHistory', 'maxUnfinishedMigrations', 'maxArchiveBytes'],
  ...['logLevel', 'logFormat'],
] as const satisfies readonly (keyof WorkerSettings | keyof LogSettings | 'listen')[]

export const SERVE = [
  ...WORK,
  ...['role', 'vendor', 'preview', 'installedVersion', 's3PublicEndpoint', 'trustedProxies'],
  ...['userHeader', 'oidcIssuer', 'oidcClientId', 'oidcClientSecretFile', 'oidcName'],
  ...['oidcLoginClaim', 'oidcRequire', 'oidcAdmin', 'oidcCreate'],
  ...['sessionTtl', 'linkTtl', 'clientTimeout', 'rateLimit', 'maxRequests', 'maxStreams'],
  ...['maxStreamsPerAccount', 'maxClones', 'maxSchedules', 'maxTokens'],
] as const satisfies readonly (keyof ServiceSettings | keyof LogSettings)[]

export type WorkerConfig = Config<(typeof WORK)[number]>
export type ServiceConfig = Config<(typeof SERVE)[number]>
