import { ManifestInvalid } from '@godwit/archive/tar/manifest'
import { UnreadableArchive } from '@godwit/archive/tar/unreadable-archive'
import { RequestRejected, TemporaryError } from '@godwit/contract/client/errors'
import { GitFailed } from '@godwit/git/git-process'
import { Unreadable } from '@godwit/git/unreadable'
import { HostRequestFailed, HostUnavailable } from '@godwit/hosts/host-errors'
import { hasCode, rootCause } from '@godwit/lib/errno'
import { EXIT } from '@godwit/lib/user-error'
import { BlobsUnavailable } from '@godwit/server/blobs/blob-store'
import { isPostgresUnavailable } from '@godwit/server/db/postgres-unavailable'
import { PermissionsUnavailable } from '@godwit/server/repositories/permissions-unavailable'

/**
 * Errors other than UserError whose own message is for people, by the exit code of the command. Subclasses are included.
 * Only small modules are imported here: a failed command should not load the database or the exporter.
 */
const CLASSES_BY_EXIT_CODE: readonly [number, (new (...args: never[]) => Error)[]][] = [
  [EXIT.failed, [UnreadableArchive, ManifestInvalid, Unreadable]],
  [EXIT.refused, [RequestRejected, HostRequestFailed]],
  [EXIT.unreachable, [TemporaryError, HostUnavailable, PermissionsUnavailable]],
]

/** Returns the message and exit code for an error that needs no stack trace, or undefined for any other. */
export function describeKnownError(error: Error) {
  const { message } = error
  for (const [exitCode, classes] of CLASSES_BY_EXIT_CODE)
    if (classes.some((each) => error instanceof each)) return { message, exitCode }
  const known = (text: string, exitCode: number) => ({ message: text, exitCode })
  // It may also be that of --to-blobs.
  if (error.name === 'NoSuchBucket')
    return known(`${message}: create it, or name another one`, EXIT.unreachable)
  // The AWS SDK is not loaded here, so its errors are recognized by their documented name and field.
  const isOfSdk = error.name === 'CredentialsProviderError' || '$metadata' in error
  if (isOfSdk || error instanceof BlobsUnavailable)
    return known(`the bucket: ${message}; run \`godwit doctor\``, EXIT.unreachable)
  if (isPostgresUnavailable(error)) {
    const reason = rootCause(error).message
    return known(`the database (--database-url) is not available: ${reason}`, EXIT.unreachable)
  }
  if (error instanceof GitFailed && hasCode(error.cause, 'ENOENT', 'EACCES'))
    return known('git cannot be run: install git 2.30 or newer, or set --git', EXIT.failed)
  return undefined
}
