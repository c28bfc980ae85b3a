import { spawnSync } from 'node:child_process'
import { access, chmod, constants, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** A whole run makes hundreds of databases of eight megabytes. */
const ENOUGH_BYTES = 6 * 2 ** 30

/** A directory for this process: in memory where there is plenty of it, since a disk takes several times as long to make files. */
export async function placeForFiles(what: string): Promise<string> {
  return mkdtemp(join(await memoryOrDisk(), `godwit-${what}-${process.pid}-`))
}

/**
 * From here on the temporary directory of this process and of all that it starts is such a place, for everybody on the machine,
 * as the usual one is. Where the environment names one, that is taken. Resolves to what removes it.
 */
export async function moveTemporaryFiles(): Promise<() => Promise<void>> {
  if (process.env.TMPDIR) return async () => {}
  const place = await placeForFiles('tests')
  const remove = () => rm(place, { recursive: true, force: true })
  await chmod(place, 0o1777)
  if (await letsProgramsRun(place)) process.env.TMPDIR = place
  else await remove()
  return remove
}

/** Tests make programs, and in containers memory is often for data only. */
async function letsProgramsRun(place: string): Promise<boolean> {
  const program = join(place, 'program')
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 })
  const { status } = spawnSync(program)
  await rm(program)
  return status === 0
}

async function memoryOrDisk(): Promise<string> {
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

const OF_PROCESS = /^godwit-[a-z]+-(\d+)-/

/** Of runs that were killed: on a disk they do no harm, but memory is wanted back. A PostgreSQL without its files ends itself. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(OF_PROCESS.exec(name)?.[1])
    if (!(pid > 0) || isAlive(pid)) continue
    // Another user's is for them to remove.
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
