import { readFile } from 'node:fs/promises'
import { type CheckResult, failure, passed, warning } from './check-result.ts'

const OLDEST_NODE = 24
/** Each repository being exported takes a dozen, each client one, a bucket up to some hundreds. */
const FEW_FILES = 1024
const TOO_FEW_FILES = 256
/** Nothing of Godwit is older. */
const BEGINNING = Date.UTC(2026, 0, 1)

export async function* checkMachine(): AsyncGenerator<CheckResult> {
  yield checkNode(process.versions.node)
  yield checkClock(Date.now())
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  yield checkOpenFiles(/^Max open files +(\S+)/m.exec(limits)?.[1])
}

function checkNode(version: string): CheckResult {
  const found = `${version}, at ${process.execPath}`
  if (Number.parseInt(version, 10) >= OLDEST_NODE) return passed('node', found)
  return failure('node', found, `use Node ${OLDEST_NODE} or newer`)
}

export function checkClock(now: number): CheckResult {
  const found = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  if (now >= BEGINNING) return passed('clock', found)
  const advice = 'set the clock (chrony, systemd-timesyncd): tokens, links and locks expire by it'
  return failure('clock', `${found} is in the past`, advice)
}

/** Node has already raised the soft limit as far as it may. */
function checkOpenFiles(limit: string | undefined): CheckResult {
  if (limit === undefined) return passed('open files', 'the limit of this system is unknown')
  if (limit === 'unlimited' || Number(limit) >= FEW_FILES) return passed('open files', limit)
  const judge = Number(limit) < TOO_FEW_FILES ? failure : warning
  const advice = `allow at least ${FEW_FILES}: LimitNOFILE= in the unit, or ulimit -n`
  return judge('open files', `at most ${limit}`, advice)
}
