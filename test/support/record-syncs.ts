import { existsSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { TestContext } from 'node:test'

/**
 * Records the files and folders that this process syncs to the disk with a file handle: for each inode, whether `target` existed
 * at that time.
 */
export async function recordSyncs(t: TestContext, target: string): Promise<Map<number, boolean>> {
  const synced = new Map<number, boolean>()
  await using handle = await open('/')
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  const { sync } = prototype
  t.mock.method(prototype, 'sync', async function (this: FileHandle) {
    synced.set((await this.stat()).ino, existsSync(target))
    return sync.call(this)
  })
  return synced
}
