import { knownProcesses } from '../../db/survey.ts'
import { markerFolder, NOT_SHARED, strangersTo } from '../../service/mark-process.ts'
import { placesOf } from '../../service/places.ts'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, failure, passed, some } from './check-result.ts'

/** Where several processes keep archives in a directory, it must be one and the same. */
export async function* checkSharedData(config: Config): AsyncGenerator<CheckResult> {
  const folder = markerFolder(placesOf(config, ''))
  if (config.databaseUrl === undefined || folder === undefined) return
  // A database that cannot be read has its own finding.
  const processes = await knownProcesses(config.databaseUrl).catch(() => [])
  const now = Date.now()
  const strangers = await strangersTo(folder, processes, now)
  if (strangers.length > 0) {
    const names = strangers.map(({ host, pid, role }) => `${role} ${pid} at ${host}`)
    const advice = `mount one directory at ${config.data} for all processes, or use a bucket (--blobs)`
    yield failure('shared data', `${NOT_SHARED}: ${some(names)}`, advice)
  } else if (processes.length > 0)
    yield passed('shared data', `${config.data} is shared by all processes that run`)
}
