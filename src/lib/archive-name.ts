/** Returns the file name of a downloaded archive: `migration-7-alice-2026-11-15.tar.gz`. */
export function archiveName(id: number, login: string, createdAt: Date): string {
  const owner = login.replaceAll(/[^A-Za-z0-9._-]/g, '_')
  return `migration-${id}-${owner}-${createdAt.toISOString().slice(0, 10)}.tar.gz`
}
