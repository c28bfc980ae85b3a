import { execFileSync } from 'node:child_process'
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { skipUnless } from './skip-unless.ts'

const MEGABYTE = 1024 * 1024

/** Options for tests that mount a file system, which needs root, and is not allowed in every container. */
export const needsMount = skipUnless(canMount(), 'no file system can be mounted here')

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  try {
    unmount(mount(1))
    return true
  } catch {
    return false
  }
}

export interface SmallDisk {
  path: string
  /** Fills the disk, but leaves this many bytes free. */
  fill(leave?: number): void
  /** Removes what `fill` wrote. */
  free(): void
  setReadOnly(isReadOnly: boolean): void
}

/** Mounts a file system in memory that can be filled. */
export function smallDisk(t: TestContext, megabytes: number): SmallDisk {
  const path = mount(megabytes)
  t.after(() => unmount(path))
  const ballast = join(path, 'ballast')
  return {
    path,
    fill(leave = 0) {
      const file = openSync(ballast, 'w')
      const size = writeUntilFull(file)
      ftruncateSync(file, Math.max(0, size - leave))
      closeSync(file)
      const { bavail, bsize } = statfsSync(path)
      if (bavail * bsize > leave + 2 * bsize) throw new Error('the disk is not full')
    },
    free: () => rmSync(ballast, { force: true }),
    setReadOnly: (isReadOnly) =>
      void execFileSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, path]),
  }
}

function writeUntilFull(file: number): number {
  let size = 0
  // The last bytes can only be written page by page.
  for (let chunk = MEGABYTE; chunk >= 4096; chunk /= 4) {
    try {
      for (;;) size += writeSync(file, Buffer.alloc(chunk))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  return size
}

function mount(megabytes: number): string {
  const path = mkdtempSync(join(tmpdir(), 'godwit-disk-'))
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`]
    execFileSync('mount', [...options, 'godwit-test', path], { stdio: 'ignore' })
  } catch (error) {
    rmSync(path, { recursive: true })
    throw error
  }
  return path
}

/** Unmounts lazily: the file system disappears when the last process stops using it. */
function unmount(path: string): void {
  execFileSync('umount', ['-l', path])
  rmSync(path, { recursive: true })
}
