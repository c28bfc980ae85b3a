import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, withoutPassword } from '../../config.ts'
import {
  type PostgresSurvey,
  type SchemaAge,
  surveyPostgres,
  surveySqlite,
} from '../../db/survey.ts'
import { KNOWN_SCHEMA } from '../../db/upgrade.ts'
import { UTF8_REMEDY } from '../../service/database-errors.ts'
import { broken, type CheckResult, fine, warning, wordsOf } from './check-result.ts'

/** What the queue on PostgreSQL asks for. */
const OLDEST_POSTGRES = 13
const AN_HOUR = 3_600_000

export async function* checkDatabase({ data, databaseUrl }: Config): AsyncGenerator<CheckResult> {
  if (databaseUrl === undefined) yield* checkSqlite(join(data, 'godwit.sqlite'))
  else yield* checkPostgres(databaseUrl)
}

function* checkSqlite(file: string): Generator<CheckResult> {
  if (!existsSync(file)) {
    yield fine('database', `SQLite at ${file}, which the first start makes`)
    return
  }
  const restore = 'stop Godwit and put the last backup of the database in its place'
  let survey: ReturnType<typeof surveySqlite>
  try {
    survey = surveySqlite(file)
  } catch (error) {
    yield broken('database', `${file} cannot be read: ${wordsOf(error)}`, restore)
    return
  }
  const { integrity, tables, schema } = survey
  if (integrity !== 'ok') {
    yield broken('database', `${file} is damaged: ${integrity.split('\n').at(-1)}`, restore)
    return
  }
  if (!schema && tables > 0) {
    yield broken('database', `${file} is not Godwit's`, 'move it away, or name another --data')
    return
  }
  yield judgeSchema(`SQLite at ${file}`, schema)
  if (schema && schema.upgradedAt > Date.now() + AN_HOUR) {
    const found = `the database was made ${new Date(schema.upgradedAt).toISOString()}, later than now`
    yield broken('clock', found, 'set the clock: it has gone back')
  }
}

async function* checkPostgres(databaseUrl: string): AsyncGenerator<CheckResult> {
  const address = withoutPassword(databaseUrl)
  let survey: PostgresSurvey
  try {
    survey = await surveyPostgres(databaseUrl)
  } catch (error) {
    const found = `${address} cannot be used: ${wordsOf(error)}`
    yield broken(
      'database',
      found,
      'start it, or mend host, port, name and password of --database-url',
    )
    return
  }
  yield judgePostgres(`PostgreSQL ${survey.version} at ${address}`, survey)
  yield judgeClock('clock of database', survey.clockAheadMs, survey.roundTripMs)
}

function judgePostgres(what: string, survey: PostgresSurvey): CheckResult {
  const { versionNumber, isStandby, encoding, mayCreate, schema } = survey
  if (versionNumber < OLDEST_POSTGRES * 10_000)
    return broken('database', `${what} is too old`, `use PostgreSQL ${OLDEST_POSTGRES} or newer`)
  if (isStandby)
    return broken('database', `${what} is a standby`, 'name the primary in --database-url')
  if (encoding !== 'UTF8')
    return broken('database', `${what} has encoding ${encoding}, not UTF8`, UTF8_REMEDY)
  if (!mayCreate && schema?.step !== KNOWN_SCHEMA)
    return broken(
      'database',
      `${what}: its role may not make tables`,
      'grant create on database … and on schema public to the role of --database-url',
    )
  return judgeSchema(what, schema)
}

function judgeSchema(what: string, schema: SchemaAge | undefined): CheckResult {
  if (!schema) return fine('database', `${what}, empty: the first start makes its tables`)
  if (schema.step > KNOWN_SCHEMA)
    return broken(
      'database',
      `${what} has schema ${schema.step}, this Godwit knows ${KNOWN_SCHEMA}`,
      'start the newer Godwit that upgraded it',
    )
  const upgrade =
    schema.step < KNOWN_SCHEMA ? `, which the next start brings to ${KNOWN_SCHEMA}` : ''
  return fine('database', `${what}, schema ${schema.step}${upgrade}`)
}

const NOTICED_MS = 2000
const TOO_FAR_MS = 60_000

/** Two clocks that differ: leases, tokens and links end too early or too late. */
export function judgeClock(check: string, aheadMs: number, uncertainMs: number): CheckResult {
  const apart = Math.max(0, Math.abs(aheadMs) - uncertainMs)
  if (apart < NOTICED_MS) return fine(check, 'agrees with ours')
  const found = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ours`
  const advice = 'let both machines follow the same time (chrony, systemd-timesyncd)'
  return (apart < TOO_FAR_MS ? warning : broken)(check, found, advice)
}
