import { join } from 'node:path'
import { type Directory, isNamedAsRepository, readDirectory } from '../directory.ts'
import { isLikeRepository, refused } from '../repository-place.ts'
import type { Places } from './layout.ts'

/** How deep to look for repositories that were put where none is expected. */
const DEEPEST = 3

/** Repositories that lie deeper than they should, or whose directory is not named as one. */
export async function* outOfPlace(
  root: string,
  path: string,
  at: Directory,
  reason: string,
  depth = 1,
): Places {
  for (const entry of at.entries) {
    if (isNamedAsRepository(entry) || !entry.isDirectory()) continue
    const below = join(path, entry.name)
    const inside = await readDirectory(join(root, below))
    if ('reason' in inside) {
      yield refused(below, inside.reason)
    } else if (isLikeRepository(inside)) {
      yield refused(below, reason)
    } else {
      for (const deep of inside.repositories) yield refused(join(below, deep.name), reason)
      if (depth < DEEPEST) yield* outOfPlace(root, below, inside, reason, depth + 1)
    }
  }
}
