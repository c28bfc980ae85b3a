import { GitFailed } from '../../../git/git-end.ts'
import { Unreadable } from '../../unreadable.ts'
import { asUnreadable } from './why-unreadable.ts'

/** A kind of repository that cannot be exported whole, such as a shallow one. Trying again will not help. */
export class Unsupported extends Unreadable {
  override name = 'Unsupported'

  constructor(repository: string, reason: string, cause?: unknown) {
    super(`${repository}: ${reason}`, { cause })
  }
}

/** Objects or refs are missing, or are not what their names say. */
export class Damaged extends Unreadable {
  override name = 'Damaged'

  constructor(repository: string, reason: string, cause?: unknown) {
    super(`${repository}: ${reason}`, { cause })
  }
}

/** A repack or a push moved files between two looks: look again. Never leaves this room. */
export class ChangedDuringRead extends Error {
  override name = 'Moved'
}

/** A failure to read, told by the repository's name: where git came to a verdict, it is damaged, in git's words. */
export function faultByName(repository: string, error: unknown, dir: string): unknown {
  const told = asUnreadable(error, dir)
  if (told === error || !(told instanceof Unreadable)) return error
  if (error instanceof GitFailed && error.exitCode !== null)
    return new Damaged(repository, told.message, error)
  return new Unreadable(`${repository}: ${told.message}`, { cause: error })
}

/** What the work on a repository answers; what it fails at is told by its name, unless it was stopped. */
export async function orDamaged<T>(
  { name, dir }: { name: string; dir: string },
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    signal.throwIfAborted()
    throw faultByName(name, error, dir)
  }
}
