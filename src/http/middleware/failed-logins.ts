import { setTimeout as sleep } from 'node:timers/promises'
import type { Viewer } from '../../accounts/account.ts'
import type { Authenticator } from '../../accounts/authenticator.ts'
import { addressKey } from './caller-key.ts'
import { badCredentials, tooManyFailures } from './http-errors.ts'
import { countersInMemory } from './rate-limit.ts'

const MAX_FAILURES = 60
const WINDOW_MS = 600_000
const DELAY_MS = 1000
/** Delayed requests count as running requests: more of them would keep others out. */
const MAX_DELAYED = 50

export type FailedLogins = ReturnType<typeof failedLogins>

interface LoginParts {
  authenticator: Authenticator
  now: () => number
}

/**
 * Rejects bad credentials. After too many of them from one address, each further rejection is delayed. A valid token always works,
 * because many people may share an address. Each process has its own counts.
 */
export function failedLogins({ authenticator, now }: LoginParts) {
  const failures = countersInMemory(WINDOW_MS, now)
  const hasTooManyFailures = async (ip: string) =>
    (await failures.get(addressKey(ip))).times > MAX_FAILURES
  let delayed = 0

  /** Counts a failed login of this address and throws. */
  async function refuse(ip: string): Promise<never> {
    if (!(await hasTooManyFailures(ip))) {
      await failures.add(addressKey(ip), 1)
      throw badCredentials()
    }
    if (delayed < MAX_DELAYED) {
      delayed++
      await sleep(DELAY_MS, undefined, { ref: false })
      delayed--
    }
    throw tooManyFailures()
  }

  return {
    /** Returns the owner of a token. Throws if the token is not valid. */
    async viewerOf(token: string | undefined, ip: string): Promise<Viewer> {
      if (token === undefined) return refuse(ip)
      const mayAskForge = async () => !(await hasTooManyFailures(ip))
      return (await authenticator.viewerOf(token, mayAskForge)) ?? refuse(ip)
    },
    refuse,
  }
}
