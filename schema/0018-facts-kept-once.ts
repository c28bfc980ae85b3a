import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { ID } from './column-types.ts'
import type { SchemaStep } from './step.ts'

/**
 * A snapshot is a list of references to facts, which are kept once however many migrations there are of an unchanged
 * repository. Rows of one repository each are left to those that were exported one by one; those that were found unchanged
 * together are a list as well. An archive is what its migration's repositories and its metadata are, and needs no list.
 */
export const factsKeptOnce: SchemaStep = {
  name: 'facts kept once',
  statements: (engine) => [
    `create table facts (
      id ${ID[engine]},
      digest text not null unique,
      repository_id bigint not null,
      full_name text not null,
      facts text not null,
      named_at bigint not null)`,
    'create index facts_by_naming on facts (named_at)',
    `create table snapshots (
      migration_id bigint not null references migrations (id),
      part integer not null,
      facts_ids text not null,
      primary key (migration_id, part))`,
    `create table repository_exports (
      migration_id bigint not null references migrations (id),
      position integer not null,
      outcome text,
      segment_key text,
      reason text,
      warning text,
      started_at bigint,
      finished_at bigint,
      finished_order integer,
      bytes_expected bigint,
      bytes_done bigint not null,
      reused integer not null,
      primary key (migration_id, position))`,
    `create table reused_repositories (
      migration_id bigint not null references migrations (id),
      first_order integer not null,
      finished_at bigint not null,
      repositories text not null,
      primary key (migration_id, first_order))`,
    'alter table migrations add column metadata_key text',
    'alter table migrations add column manifest_key text',
    `update migrations set
      metadata_key = (select segment_key from archive_segments
        where migration_id = migrations.id and position = 0),
      manifest_key = (select segment_key from archive_segments join segments on key = segment_key
        where migration_id = migrations.id and position > 0 and fingerprint is null)
      where archive_expires_at is not null`,
    `insert into repository_exports
      select migration_id, position, outcome, segment_key, reason, warning, started_at, finished_at, finished_order,
        bytes_expected, bytes_done, reused
      from migration_repositories where outcome is not null or started_at is not null`,
    `create index repository_exports_omitted on repository_exports (migration_id, position)
      where outcome = 'omitted'`,
  ],
  async convertRows(tx) {
    await convertSnapshots(tx)
    for (const table of ['archive_segments', 'migration_repositories']) {
      await sql`drop table ${sql.table(table)}`.execute(tx)
    }
  },
}

/** As many as a part of a snapshot refers to: so a database of any size is converted in little memory. */
const IN_A_PART = 500

interface OldRow {
  migration_id: number
  position: number
  repository_id: number
  full_name: string
  facts: string
}

async function convertSnapshots(tx: Kysely<unknown>): Promise<void> {
  let after = { migration_id: 0, position: -1 }
  for (;;) {
    const { rows } = await sql<OldRow>`
      select migration_id, position, repository_id, full_name, facts from migration_repositories
      where (migration_id, position) > (${after.migration_id}, ${after.position})
      order by migration_id, position limit ${IN_A_PART}`.execute(tx)
    const parts = [...Map.groupBy(rows, keyOfPart).values()]
    // The last one may go on beyond what was read; alone it is as long as a part can be.
    if (rows.length === IN_A_PART && parts.length > 1) parts.pop()
    if (parts.length === 0) return
    const ids = await keepFacts(tx, parts.flat())
    for (const part of parts) {
      const references = part.map(({ facts }) => ids.get(digestOf(facts)))
      await sql`insert into snapshots (migration_id, part, facts_ids) values
        (${part[0]!.migration_id}, ${partOf(part[0]!)}, ${JSON.stringify(references)})`.execute(tx)
    }
    after = parts.at(-1)!.at(-1)!
  }
}

const partOf = ({ position }: OldRow): number => Math.floor(position / IN_A_PART)
const keyOfPart = (row: OldRow): string => `${row.migration_id} ${partOf(row)}`
const digestOf = (facts: string): string => hash('sha256', facts, 'base64url')

/** Their ids, by their digests. */
async function keepFacts(tx: Kysely<unknown>, rows: OldRow[]): Promise<Map<string, number>> {
  const kept = new Map(rows.map((row) => [digestOf(row.facts), row]))
  const values = [...kept].map(
    ([digest, { repository_id, full_name, facts }]) =>
      sql`(${digest}, ${repository_id}, ${full_name}, ${facts}, 0)`,
  )
  await sql`insert into facts (digest, repository_id, full_name, facts, named_at)
    values ${sql.join(values)} on conflict (digest) do nothing`.execute(tx)
  const found = await sql<{ id: number; digest: string }>`
    select id, digest from facts where digest in (${sql.join([...kept.keys()])})`.execute(tx)
  return new Map(found.rows.map(({ id, digest }) => [digest, id]))
}
