import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { isOwnerMark } from '../../packages/server/src/exporter/blob-store-owner.ts'
import type { Service } from './service.ts'

type DataDirectory = Pick<Service, 'data'>

/** Reads rows from the database of a service. */
export function rowsOf<T>({ data }: DataDirectory, sql: string, ...values: SQLInputValue[]): T[] {
  using database = new DatabaseSync(join(data, 'godwit.sqlite'), { readOnly: true })
  return database.prepare(sql).all(...values) as T[]
}

/** Changes the database while the service is stopped, such as times, so that hours pass at once. */
export function changeRows({ data }: DataDirectory, sql: string): void {
  using database = new DatabaseSync(join(data, 'godwit.sqlite'))
  database.exec(sql)
}

/** Returns the keys of all finished blobs, sorted. */
export function blobsOf({ data }: DataDirectory): string[] {
  return readdirSync(join(data, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && basename(entry.parentPath) !== 'tmp')
    .map(({ name }) => name)
    .filter((name) => !isOwnerMark(name))
    .sort()
}

/** Returns the keys of the segments that hold a repository, sorted; other migrations can reuse them. */
export function repositorySegments(service: DataDirectory): string[] {
  const sql = 'select key from segments where fingerprint is not null order by key'
  return rowsOf<{ key: string }>(service, sql).map(({ key }) => key)
}

export function unfinishedFiles(service: DataDirectory): string[] {
  return [...snapshotsOf(service), ...readdirSync(join(service.data, 'blobs/tmp'))]
}

/** Lists the snapshots. Each process has its own directory with a lock file in it. */
export function snapshotsOf({ data }: DataDirectory): string[] {
  const scratch = join(data, 'scratch')
  const inside = readdirSync(scratch).flatMap((name) => readdirSync(join(scratch, name)))
  return inside.filter((name) => name !== 'lock')
}

/** Asserts that there are no unfinished blobs, no blobs without a row, no rows without a blob, and no jobs. */
export function assertNothingLeftOver(service: DataDirectory): void {
  assert.deepEqual(unfinishedFiles(service), [])
  const known = rowsOf<{ key: string }>(service, 'select key from segments order by key')
  assert.deepEqual(
    blobsOf(service),
    known.map(({ key }) => key),
  )
  assert.deepEqual(rowsOf(service, 'select * from jobs'), [])
}

export function hasNothingLeftOver(service: DataDirectory): boolean {
  try {
    assertNothingLeftOver(service)
    return true
  } catch (error) {
    if (error instanceof assert.AssertionError) return false
    throw error
  }
}

/** Stops the service and asserts that its log has no errors, not even ones that a retry solved. */
export async function assertNoErrors(service: Pick<Service, 'stop' | 'log'>): Promise<void> {
  await service.stop()
  const errors = service
    .log()
    .split('\n')
    .filter((line) => line.includes('"level":50'))
  assert.deepEqual(errors, [])
}
