import { spawnSync } from 'node:child_process'
import { access, chmod, constants, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** A whole run makes hundreds of databases of eight megabytes. */
const MIN_FREE_BYTES = 6 * 2 ** 30

/** Makes a directory for this process: in memory if enough is free, because creating files on a disk takes several times as long. */
export async function makeRunDirectory(purpose: string): Promise<string> {
  return mkdtemp(join(await memoryOrDisk(), `godwit-${purpose}-${process.pid}-`))
}

/**
 * Sets TMPDIR to a directory in memory, for this process and all that it starts, unless TMPDIR is set already. Returns a function
 * that removes the directory.
 */
export async function moveTemporaryFilesToMemory(): Promise<() => Promise<void>> {
  if (process.env.TMPDIR) return async () => {}
  const directory = await makeRunDirectory('tests')
  const remove = () => rm(directory, { recursive: true, force: true })
  // World-writable like /tmp: some tests run programs as other users.
  await chmod(directory, 0o1777)
  if (await canRunPrograms(directory)) process.env.TMPDIR = directory
  else await remove()
  return remove
}

/** Returns false for a file system mounted with noexec, as /dev/shm is in many containers. */
async function canRunPrograms(directory: string): Promise<boolean> {
  const program = join(directory, 'program')
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
    if (free >= MIN_FREE_BYTES) return MEMORY
  } catch {
    // /dev/shm does not exist or is not writable.
  }
  return tmpdir()
}

const NAME_WITH_PID = /^godwit-[a-z]+-(\d+)-/

/** Removes the directories of runs that were killed, which occupy memory. A PostgreSQL whose files are gone exits by itself. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(NAME_WITH_PID.exec(name)?.[1])
    if (!(pid > 0) || isAlive(pid)) continue
    // Directories of other users cannot be removed.
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
