import { readFileSync } from 'node:fs'
import type { Destination } from './choose-destinations.ts'

/** A repository that the script restores from the directory `fullName`. Its names contain only letters, digits, ".", "_" and "-". */
export type Dumped = Destination & { isPrivate: boolean }

const TEMPLATE = new URL('restore.sh', import.meta.url)
const MARKER = /^# Here restore-script\.ts .*$/m

/** Returns a script for any POSIX shell that restores every dump with the server's own program. */
export function restoreScript(dumps: readonly Dumped[]): string {
  const calls = dumps.map(
    ({ fullName, owner, name, isPrivate }) =>
      `restore '${fullName}' '${owner}' '${name}' ${isPrivate ? 'private' : 'public'}`,
  )
  return readFileSync(TEMPLATE, 'utf8').replace(MARKER, () => calls.join('\n'))
}
