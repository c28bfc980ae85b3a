/** The jobs a migration becomes. Their names are in the queue of running services: a rename needs both for a while. */
export const BEGIN_EXPORT = 'begin-export'
export const EXPORT_REPOSITORY = 'export-repository'
export const SEAL_ARCHIVE = 'seal-archive'

export interface MigrationJob {
  migrationId: number
}
