import { setTimeout as sleep } from 'node:timers/promises'
import { countersInMemory } from './counters.ts'
import { badCredentials, tooManyFailures } from './refusals.ts'

const MAX_FAILURES = 60
const WITHIN_MS = 600_000
const PAUSE_MS = 1000
/** Those that wait are requests under way: more would keep others out. */
const MAX_PAUSED = 50

export interface FailedLogins {
  hasFailedOften(ip: string): boolean
  refuse(ip: string): Promise<never>
}

/**
 * Refuses bad credentials. An address that has sent too many of them waits for each further refusal. Only these are refused: a
 * good token is served wherever it comes from, since many people may share an address. Every process counts for itself.
 */
export function failedLogins(now: () => number): FailedLogins {
  const failures = countersInMemory(WITHIN_MS, now)
  const hasFailedOften = (ip: string) => failures.look(ip).times > MAX_FAILURES
  let paused = 0
  return {
    hasFailedOften,
    async refuse(ip) {
      if (!hasFailedOften(ip)) {
        failures.add(ip, 1)
        throw badCredentials()
      }
      if (paused < MAX_PAUSED) {
        paused++
        await sleep(PAUSE_MS, undefined, { ref: false })
        paused--
      }
      throw tooManyFailures()
    },
  }
}
