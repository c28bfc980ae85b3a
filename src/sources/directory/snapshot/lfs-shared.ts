import { join, relative, resolve, sep } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { ifExists } from '../../../lib/errno.ts'
import type { BareRepository, LfsPointer, ObjectFile } from '../../snapshot.ts'
import { refuseSpecialFiles } from '../files/special-files.ts'
import { lstat } from '../files/sync-fs.ts'
import { isOutside, lfsPath, NOT_THERE } from './lfs-objects.ts'
import { findPointers } from './lfs-pointers.ts'

const MAX_REMEMBERED = 1000

/**
 * A directory of LFS objects that all repositories of a host share. It tells nothing of whose an object is, so a repository
 * gets what the pointers in its heads name, and nothing else.
 */
export class SharedLfs {
  readonly #directory: string
  /** By the heads that they are in: those of an unchanged repository need not be looked for again. */
  readonly #pointers = new Map<string, LfsPointer[]>()

  constructor(directory: string) {
    this.#directory = resolve(directory)
  }

  async pointersOf(
    repository: BareRepository,
    heads: readonly string[],
    git: Git,
    signal: AbortSignal,
  ): Promise<LfsPointer[]> {
    const { dir } = repository
    const key = [dir, ...heads].join(' ')
    const known = this.#pointers.get(key)
    if (known) return known
    await refuseSpecialFiles(repository, { git, signal })
    const pointers = await findPointers(git, dir, heads, signal)
    if (this.#pointers.size >= MAX_REMEMBERED) this.#pointers.clear()
    this.#pointers.set(key, pointers)
    return pointers
  }

  /** `storage` is what the repository calls its own, which counts where it is within the shared directory. */
  async objectsOf(
    { dir }: BareRepository,
    storage: string | undefined,
    pointers: readonly LfsPointer[],
  ): Promise<ObjectFile[]> {
    const layouts = [asGitLfs, asGitea]
    const own = storage === undefined ? '..' : relative(this.#directory, resolve(dir, storage))
    if (!isOutside(own)) layouts.push((oid) => [...stepsOf(own), 'objects', ...asGitLfs(oid)])
    const files: ObjectFile[] = []
    for (const { oid, size } of pointers)
      for (const layout of layouts) {
        const from = await this.#fileAt(layout(oid), size)
        if (from === undefined) continue
        files.push({ path: lfsPath(oid), size, from })
        break
      }
    return files
  }

  /** No link on the way is followed; one of another size than its pointer says is not what was meant. */
  async #fileAt(steps: readonly string[], size: number): Promise<string | undefined> {
    let at = this.#directory
    for (const [depth, step] of steps.entries()) {
      at = join(at, step)
      const stats = await ifExists(lstat(at), ...NOT_THERE)
      const isLast = depth === steps.length - 1
      if (isLast ? !stats?.isFile() || stats.size !== size : !stats?.isDirectory()) return undefined
    }
    return at
  }
}

const stepsOf = (path: string) => path.split(sep).filter((step) => step !== '')
const asGitLfs = (oid: string) => [oid.slice(0, 2), oid.slice(2, 4), oid]
const asGitea = (oid: string) => [oid.slice(0, 2), oid.slice(2, 4), oid.slice(4)]
