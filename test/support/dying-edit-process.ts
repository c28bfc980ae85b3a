/**
 * Locks a repository, and kills itself before its n-th call that changes or opens a file:
 * node dying-edit-process.ts DIR HOME N. Prints the number of calls if it survives.
 */
import { promises } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'

const [dir = '', home = '', dieBefore = ''] = process.argv.slice(2)
let calls = 0

function count(): void {
  calls += 1
  if (calls === Number(dieBefore)) process.kill(process.pid, 'SIGKILL')
}

function counting<T extends object>(owner: T, name: keyof T): void {
  const real = owner[name] as (...args: unknown[]) => unknown
  owner[name] = function (this: unknown, ...args: unknown[]) {
    count()
    return real.apply(this, args)
  } as T[keyof T]
}

for (const name of ['link', 'open', 'rename', 'rm'] as const) {
  counting(promises, name)
}
for (const name of ['exec', 'close'] as const) counting(DatabaseSync.prototype, name)
const handle = await promises.open(process.execPath)
const ofHandles = Object.getPrototypeOf(handle) as typeof handle
await handle.close()
for (const name of ['writeFile', 'chmod', 'sync'] as const) counting(ofHandles, name)
syncBuiltinESMExports()
calls = 0

const { createGit } = await import('../../packages/git/src/git.ts')
const { reconcilePushLock } = await import('../../packages/hosts/src/directory/locks/push-lock.ts')
const git = createGit({ program: 'git', searchPath: process.env.PATH ?? '', home })
await reconcilePushLock(git, dir, async () => true)
process.stdout.write(`${calls}\n`)
