import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode } from '../ground/errno.ts'
import { makeDirectory } from '../ground/make-directory.ts'
import { SILENT_MS, type WorkerRecord } from '../queue/worker-store.ts'
import type { Places } from './places.ts'

/** Longer than any process is remembered by its row. */
const LEFT_BEHIND_MS = 24 * 3_600_000

/** Where processes that share a directory of archives leave their marks; undefined where they share a bucket. */
export const markerFolder = ({ blobs }: Pick<Places, 'blobs'>): string | undefined =>
  typeof blobs === 'string' ? join(dirname(blobs), 'processes') : undefined

/** A file that every process sees which has the same directory, and no other. Written again, it is younger. */
export async function leaveMarker(folder: string, id: string): Promise<void> {
  makeDirectory(folder, 0o700)
  const file = join(folder, id)
  const now = new Date()
  try {
    await utimes(file, now, now)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    await writeFile(file, '')
  }
}

export const removeMarker = (folder: string, id: string): Promise<void> =>
  rm(join(folder, id), { force: true })

/** Processes that live by their rows and have left no mark here: their archives are elsewhere. */
export async function strangersTo<T extends Pick<WorkerRecord, 'id' | 'seenAt'>>(
  folder: string,
  workers: readonly T[],
  now: number,
): Promise<T[]> {
  const here = new Set(await readdir(folder).catch(() => []))
  return workers.filter(({ id, seenAt }) => seenAt > now - SILENT_MS && !here.has(id))
}

/** Marks of processes that ended without a word. */
export async function sweepMarkers(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: now }))
    if (mtimeMs < now - LEFT_BEHIND_MS) await rm(file, { force: true })
  }
}

export const NOT_SHARED =
  'the data directory is not shared with all processes, so that archives cannot be found'
