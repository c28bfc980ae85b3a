const MAX_NAME_LENGTH = 50

/** Returns the file name of a downloaded archive: `migration-7-alice-nightly-2026-11-15.tar.gz`, where `nightly` is its name. */
export function archiveName(migration: {
  id: number
  login: string
  createdAt: Date
  name?: string | null | undefined
}): string {
  const { id, login, createdAt, name } = migration
  const owner = login.replaceAll(/[^A-Za-z0-9._-]/g, '_')
  const words = name?.match(/[A-Za-z0-9_]+/g)?.join('-') ?? ''
  const shortened = words.slice(0, MAX_NAME_LENGTH).replace(/-$/, '')
  const parts = ['migration', id, owner, ...(shortened ? [shortened] : [])]
  return `${parts.join('-')}-${createdAt.toISOString().slice(0, 10)}.tar.gz`
}
