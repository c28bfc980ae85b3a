import { join } from 'node:path'
import { surveyStoredData } from '../../db/survey.ts'
import { counted, duration } from '../../lib/quantities.ts'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, passed, warning } from './check-result.ts'

/** What the checks of stored data have found so far, and how old they are. It reads nothing of the store itself. */
export async function* checkStoredData(config: Config): AsyncGenerator<CheckResult> {
  const { data, databaseUrl, segmentCheckAge } = config
  const database = { sqlite: join(data, 'godwit.sqlite'), postgres: databaseUrl }
  // A database that cannot be read has its own finding.
  const survey = await surveyStoredData(database).catch(() => undefined)
  if (!survey || survey.segments === 0) return
  const { segments, damaged, oldestCheckAt } = survey
  const age = Math.max(0, Date.now() - oldestCheckAt)
  const checked = `the oldest check is ${duration(age / 1000)} old`
  if (damaged > 0) {
    const found = `${damaged} of ${counted(segments, 'stored segment')} ${damaged === 1 ? 'is' : 'are'} damaged; ${checked}`
    const advice = '`godwit check --store` names the archives; start their migrations again'
    yield warning('stored data', found, advice)
  } else if (age > 2 * segmentCheckAge) {
    const advice =
      'run `godwit check --store`, or set a longer --segment-check-age: the service reads about 2.6 TB a week'
    yield warning('stored data', `${counted(segments, 'segment')}, ${checked}`, advice)
  } else yield passed('stored data', `${counted(segments, 'segment')}, none damaged; ${checked}`)
}
