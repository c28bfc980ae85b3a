import { type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { Unreadable } from '../../unreadable.ts'
import { inTurns } from '../prompt-files.ts'
import { COMMON_DIR, OF_ANOTHER } from '../snapshot/examine-kind.ts'
import { type Seen, statsBelow, statsOf } from '../stats-below.ts'

/** What counts as the size of a repository: it is as large on any disk, and an empty one has no size. */
const MEASURED = ['objects', 'lfs']
/** What git reads besides. */
const READ = ['refs', 'worktrees']
const READ_FILES = ['HEAD', 'config', 'config.worktree', 'packed-refs', 'shallow', COMMON_DIR]

/**
 * The bytes of objects and of large files, in KiB. On the way everything that git may open is looked at: it would wait for
 * ever at a pipe, and be led into another repository.
 */
export async function measureOwnFiles(dir: string): Promise<number> {
  let bytes = 0n
  for (const part of MEASURED)
    await inTurns(statsBelow(join(dir, part)), (seen) => {
      refuseOdd(dir, seen)
      if (seen.stats.isFile()) bytes += seen.stats.size
    })
  for (const part of READ)
    await inTurns(statsBelow(join(dir, part)), (seen) => refuseOdd(dir, seen))
  for (const seen of await statsOf(READ_FILES.map((name) => join(dir, name)))) {
    if (seen.path.endsWith(`/${COMMON_DIR}`)) throw new Unreadable(OF_ANOTHER)
    refuseOdd(dir, seen)
  }
  return Number((bytes + 1023n) / 1024n)
}

function refuseOdd(dir: string, { path, stats }: Seen): void {
  const target = stats.isSymbolicLink() ? targetOf(path) : stats
  if (!target || target.isFile() || target.isDirectory()) return
  throw new Unreadable(`${path.slice(dir.length + 1)} is neither a file nor a directory`)
}

/** One that leads nowhere is git's to complain of. */
function targetOf(link: string): Stats | undefined {
  try {
    return statSync(link)
  } catch {
    return undefined
  }
}
