/** What other programs use of this package. The other entries in package.json are for the packages of Godwit. */
export {
  type DownloadOptions,
  type DownloadTarget,
  downloadArchive,
} from './client/download-archive.ts'
export { RequestRejected, ServerUnreachable, TemporaryError } from './client/errors.ts'
export { MigrationsApi } from './client/migrations-api.ts'
export { pathsOf } from './client/paths.ts'
export type { RequestOptions, Server } from './client/send-request.ts'
export { type MigrationUpdate, watchMigration } from './client/watch-migration.ts'
