import { setTimeout as sleep } from 'node:timers/promises'
import type { Viewer } from '../../accounts/account.ts'
import type { Authenticator } from '../../accounts/authenticator.ts'
import { addressKey } from './address-key.ts'
import { countersInMemory } from './counters.ts'
import { badCredentials, tooManyFailures } from './refusals.ts'

const MAX_FAILURES = 60
const WITHIN_MS = 600_000
const PAUSE_MS = 1000
/** Those that wait are requests under way: more would keep others out. */
const MAX_PAUSED = 50

export interface FailedLogins {
  /** Whose token it is, if it is a good one. */
  viewerOf(token: string | undefined, ip: string): Promise<Viewer>
  refuse(ip: string): Promise<never>
}

interface LoginParts {
  authenticator: Authenticator
  now: () => number
}

/**
 * Refuses bad credentials. An address that has sent too many of them waits for each further refusal. Only these are refused: a
 * good token is served wherever it comes from, since many people may share an address. Every process counts for itself.
 */
export function failedLogins({ authenticator, now }: LoginParts): FailedLogins {
  const failures = countersInMemory(WITHIN_MS, now)
  const hasFailedOften = async (ip: string) =>
    (await failures.look(addressKey(ip))).times > MAX_FAILURES
  let paused = 0

  async function refuse(ip: string): Promise<never> {
    if (!(await hasFailedOften(ip))) {
      await failures.add(addressKey(ip), 1)
      throw badCredentials()
    }
    if (paused < MAX_PAUSED) {
      paused++
      await sleep(PAUSE_MS, undefined, { ref: false })
      paused--
    }
    throw tooManyFailures()
  }

  return {
    async viewerOf(token, ip) {
      if (token === undefined) return refuse(ip)
      const mayAskNew = async () => !(await hasFailedOften(ip))
      return (await authenticator.viewerOf(token, mayAskNew)) ?? refuse(ip)
    },
    refuse,
  }
}
