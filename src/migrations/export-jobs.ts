/** The jobs a migration becomes. Their names are in the queue of running services: a rename needs both for a while. */
export const BEGIN_EXPORT = 'begin-export'
export const EXPORT_RECORDS = 'export-records'
export const EXPORT_REPOSITORY = 'export-repository'
export const SEAL_ARCHIVE = 'seal-archive'

export const SETTLE_LOCK = 'settle-lock'

export interface LockJob {
  repositoryId: number
}

export interface MigrationJob {
  migrationId: number
}

/** One repository of a migration, to be exported. */
export interface ExportTask {
  migrationId: number
  position: number
}

/** All jobs of one migration. */
export const batchOf = (migrationId: number): string => `migration ${migrationId}`
