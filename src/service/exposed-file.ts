import type { Config } from '../config.ts'

/** Said of a file of settings whose secrets every user of this machine can read; undefined of any other. */
export function exposedFile(file: Config['file']): string | undefined {
  if (!file || file.exposedSecrets.length === 0) return undefined
  return `every user of this machine can read ${file.path}, which contains secrets: ${file.exposedSecrets.join(', ')}`
}
