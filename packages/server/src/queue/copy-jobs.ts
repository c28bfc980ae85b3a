import {
  type CopiedRow,
  type CopiedTable,
  type CopySession,
  RowDigest,
  requireSameRows,
} from '../db/copy-tables.ts'
import type { CopiedJob } from './queue.ts'

const JOBS = {
  sqlite: 'select kind, payload, batch, queue from jobs order by id',
  postgres: `select data->>'kind' as kind, (data->'payload')::text as payload, group_id as batch, name as queue
    from godwit_queue.job where name in ('jobs', 'webhooks') order by created_on, id`,
}

/** Yields the jobs of all queues, those that a worker holds included, and adds them to the digest. Finished jobs have no row. */
async function* readJobs(session: CopySession, digest: RowDigest): AsyncGenerator<CopiedJob[]> {
  if (session.engine === 'postgres') {
    const { rows } = await session.run("select to_regclass('godwit_queue.job') as found")
    // The first service on this database creates the tables of pg-boss.
    if (rows[0]!.found === null) return
  }
  for await (const rows of session.read(JOBS[session.engine])) {
    const payloadOf = (row: CopiedRow): unknown => JSON.parse(String(row.payload))
    const jobs = rows.map((row) => ({ ...row, payload: payloadOf(row) }) as CopiedJob)
    for (const { queue, batch, kind, payload } of jobs)
      digest.add([queue, batch ?? '', kind, sortedEntries(payload)])
    yield jobs
  }
}

/**
 * Replaces the jobs of the target by those of the source, as new jobs that are due at once and never failed. A job that runs too
 * early goes back to the queue. Throws a UserError if the target does not have the same jobs afterwards.
 */
export async function copyJobs(
  from: CopySession,
  to: CopySession,
  databaseUrl: string | undefined,
): Promise<CopiedTable> {
  const [source, target] = [new RowDigest(), new RowDigest()]
  const batches = readJobs(from, source)
  if (databaseUrl === undefined) {
    await to.run('delete from jobs')
    const at = Date.now()
    const fresh = { failures: 0, due_at: at, created_at: at, lease: null }
    for await (const jobs of batches)
      await to.insert(
        'jobs',
        jobs.map((job) => ({ ...job, payload: JSON.stringify(job.payload), ...fresh })),
      )
  } else {
    const { insertJobs } = await import('./pg-boss.ts')
    await insertJobs(databaseUrl, to, batches)
  }
  for await (const _ of readJobs(to, target));
  return requireSameRows('jobs', source, target)
}

/** PostgreSQL does not keep the order of the fields of a payload. */
const sortedEntries = (payload: unknown): unknown =>
  Object.entries(payload ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
