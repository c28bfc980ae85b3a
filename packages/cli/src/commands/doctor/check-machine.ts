import { readFile } from 'node:fs/promises'
import { describeExposedSecrets } from '../../settings/config-file.ts'
import type { ServiceConfig } from '../service-settings.ts'
import { type CheckResult, failure, passed, warning } from './check-result.ts'

/** An export of a repository opens about a dozen files, a client one, and a bucket up to some hundreds. */
const ADVISED_OPEN_FILES = 1024
const MIN_OPEN_FILES = 256
/** A clock before this date is wrong: no version of Godwit is older. */
const FIRST_DATE = Date.UTC(2026, 0, 1)

export async function* checkMachine(): AsyncGenerator<CheckResult> {
  yield passed('node', `${process.versions.node}, at ${process.execPath}`)
  yield checkClock(Date.now())
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  yield checkOpenFiles(/^Max open files +(\S+)/m.exec(limits)?.[1])
}

export function checkClock(now: number): CheckResult {
  const found = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  if (now >= FIRST_DATE) return passed('clock', found)
  const advice = 'set the clock (chrony, systemd-timesyncd): tokens, links and locks expire by it'
  return failure('clock', `${found} is before the first release of Godwit`, advice)
}

/** Node has already raised the soft limit to the hard limit. */
function checkOpenFiles(limit: string | undefined): CheckResult {
  if (limit === undefined) return passed('open files', 'the limit of this system is unknown')
  if (limit === 'unlimited' || Number(limit) >= ADVISED_OPEN_FILES)
    return passed('open files', limit)
  const report = Number(limit) < MIN_OPEN_FILES ? failure : warning
  const advice = `allow at least ${ADVISED_OPEN_FILES}: LimitNOFILE= in the unit, or ulimit -n`
  return report('open files', `at most ${limit}`, advice)
}

/** Checks that this user can read the configuration file, and that it does not expose secrets. */
export async function* checkConfig({ file }: ServiceConfig): AsyncGenerator<CheckResult> {
  if (!file) return
  const { path, isDenied } = file
  const found = describeExposedSecrets(file)
  if (isDenied) {
    const advice = 'run doctor as root, or as the user that runs Godwit'
    yield failure('config', `this user may not read ${path}: its settings are missing`, advice)
  } else if (found !== undefined) yield warning('config', found, `run \`chmod o-r ${path}\``)
  else yield passed('config', path)
}
