import { knownProcesses } from '../../db/survey.ts'
import { dataPathsOf } from '../../service/data-paths.ts'
import { markerFolder, NOT_SHARED, unexpectedProcesses } from '../../service/mark-process.ts'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, failure, firstFew, passed } from './check-result.ts'

/** Where several processes keep archives in a directory, it must be one and the same. */
export async function* checkSharedData(config: Config): AsyncGenerator<CheckResult> {
  const folder = markerFolder(dataPathsOf(config, ''))
  if (config.databaseUrl === undefined || folder === undefined) return
  // A database that cannot be read has its own finding.
  const processes = await knownProcesses(config.databaseUrl).catch(() => [])
  const now = Date.now()
  const strangers = await unexpectedProcesses(folder, processes, now)
  if (strangers.length > 0) {
    const names = strangers.map(({ host, pid, role }) => `${role} ${pid} at ${host}`)
    const advice = `mount one directory at ${config.data} for all processes, or use a bucket (--blobs)`
    yield failure('shared data', `${NOT_SHARED}: ${firstFew(names)}`, advice)
  } else if (processes.length > 0)
    yield passed('shared data', `${config.data} is shared by all processes that run`)
}
