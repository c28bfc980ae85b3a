import { ManifestInvalid } from '../archive/manifest.ts'
import { ArchiveDamaged } from '../archive/plain-bytes.ts'
import { ArchiveRefused } from '../importer/safe-entries.ts'
import { Unreadable } from '../sources/source.ts'
import { UserMistake } from './command-line.ts'
import { gitMissing, isGitMissing } from './parts.ts'
import { untilStopSignal } from './stop-signal.ts'

const PLAIN = [ArchiveRefused, ArchiveDamaged, ManifestInvalid, Unreadable]

/** Runs to the end or the first signal, cleans up either way, and tells in a line what a person can act on. */
export async function untilStopped(act: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  void untilStopSignal().then(() => stopping.abort())
  try {
    await act(signal)
  } catch (error) {
    if (signal.aborted)
      throw new UserMistake('stopped; nothing unfinished is left', { cause: error })
    if (isGitMissing(error)) throw gitMissing(error)
    throw isPlain(error) ? new UserMistake((error as Error).message, { cause: error }) : error
  }
}

/** What the file system refuses names the file and the reason by itself. */
function isPlain(error: unknown): boolean {
  const isOfFileSystem = error instanceof Error && 'syscall' in error && 'code' in error
  return isOfFileSystem || PLAIN.some((kind) => error instanceof kind)
}
