import { access, constants, readdir, readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** A whole run makes hundreds of databases of eight megabytes. */
const ENOUGH_BYTES = 6 * 2 ** 30

/** In memory where there is plenty of it: each database is hundreds of files, and a disk takes ten times as long to make them. */
export async function placeForFiles(): Promise<string> {
  try {
    await access(MEMORY, constants.W_OK)
    await removeLeftovers(MEMORY)
    const { bavail, bsize } = await statfs(MEMORY)
    const free = Math.min(bavail * bsize, process.availableMemory())
    if (free >= ENOUGH_BYTES) return MEMORY
  } catch {
    // There is no such place here, or it is not for us.
  }
  return tmpdir()
}

/** Of runs that were killed together with their PostgreSQL: on a disk they do no harm, but memory is wanted back. */
export async function removeLeftovers(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith('godwit-postgres-'))
  for (const name of names) {
    const told = await readFile(join(folder, name, 'data/postmaster.pid'), 'utf8').catch(() => '')
    const pid = Number(told.split('\n')[0])
    if (pid > 0 && !isAlive(pid)) await rm(join(folder, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
