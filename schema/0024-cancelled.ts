import type { SchemaStep } from './step.ts'

const CANCELLED = "state = 'failed' and reason = 'cancelled'"
const some = (name: string) => `(select t.count from tallies t where t.name = '${name}')`

/** Whoever cancels a migration does not make it fail: the two are counted, and looked up, apart. */
export const cancelled: SchemaStep = {
  name: 'cancelled',
  statements: () => [
    `insert into tallies (name, count, bytes)
      select 'migrations cancelled', count(*), 0 from migrations where ${CANCELLED}`,
    `update tallies set count = case
        when count > ${some('migrations cancelled')} then count - ${some('migrations cancelled')}
        else 0 end
      where name = 'migrations failed'`,
    'drop index migrations_failed',
    `create index migrations_failed on migrations (ended_at)
      where state = 'failed' and reason <> 'cancelled'`,
  ],
}
