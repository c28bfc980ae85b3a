import { type CopiedTable, CopyDiffers, type CopySession, RowDigest } from '../db/copy-tables.ts'
import type { CopiedJob } from './queue.ts'

const JOBS = {
  sqlite: 'select kind, payload, batch, queue from jobs order by id',
  postgres: `select data->>'kind' as kind, (data->'payload')::text as payload, group_id as batch, name as queue
    from godwit_queue.job where name in ('jobs', 'webhooks') order by created_on, id`,
}

/** Yields the unfinished jobs of a queue, those that a worker holds included. */
async function* readJobs(session: CopySession): AsyncGenerator<CopiedJob[]> {
  if (session.engine === 'postgres') {
    const { rows } = await session.run("select to_regclass('godwit_queue.job') as found")
    // No service has started yet.
    if (rows[0]!.found === null) return
  }
  for await (const rows of session.read(JOBS[session.engine]))
    yield rows.map((row) => {
      const payload = JSON.parse(String(row.payload))
      return { ...row, payload } as CopiedJob
    })
}

/**
 * Replaces the jobs of the target by those of the source, as new jobs that are due at once and never failed. A job that has to
 * wait longer finds that out itself. Throws CopyDiffers if the target does not have the same jobs afterwards.
 */
export async function copyJobs(
  from: CopySession,
  to: CopySession,
  databaseUrl: string | undefined,
): Promise<CopiedTable> {
  const digest = new RowDigest()
  if (databaseUrl === undefined) {
    await to.run('delete from jobs')
    const at = Date.now()
    const fresh = { failures: 0, due_at: at, created_at: at, lease: null }
    for await (const jobs of digested(readJobs(from), digest))
      await to.insert(
        'jobs',
        jobs.map((job) => ({ ...job, payload: JSON.stringify(job.payload), ...fresh })),
      )
  } else {
    const { insertJobs } = await import('./pg-boss.ts')
    await insertJobs(databaseUrl, to, digested(readJobs(from), digest))
  }
  const written = new RowDigest()
  for await (const _ of digested(readJobs(to), written));
  if (written.rows !== digest.rows || String(written) !== String(digest))
    throw new CopyDiffers(`${digest.rows} jobs at the source became ${written.rows} others`)
  return { table: 'jobs', rows: digest.rows, digest: String(digest) }
}

async function* digested(
  batches: AsyncIterable<CopiedJob[]>,
  digest: RowDigest,
): AsyncGenerator<CopiedJob[]> {
  for await (const jobs of batches) {
    for (const { queue, batch, kind, payload } of jobs)
      digest.add([queue, batch ?? '', kind, sortedEntries(payload)])
    yield jobs
  }
}

/** PostgreSQL does not keep the order of the fields of a payload. */
const sortedEntries = (payload: unknown): unknown =>
  Object.entries(payload ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
