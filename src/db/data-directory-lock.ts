import { join } from 'node:path'
import { lockFile } from '../lib/file-lock.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { UserError } from '../lib/user-error.ts'

export class DataDirectoryInUse extends UserError {
  override name = 'DataDirectoryInUse'
  constructor(dataDirectory: string) {
    super(
      `another Godwit server is already running on the data directory ${dataDirectory}: stop it, or set another --data`,
    )
  }
}

/** One server per data directory. Returns the function that lets go. */
export function lockDataDirectory(dataDirectory: string): () => void {
  makeDirectory(dataDirectory, 0o700)
  const unlock = lockFile(join(dataDirectory, 'server.lock'))
  if (!unlock) throw new DataDirectoryInUse(dataDirectory)
  return unlock
}
