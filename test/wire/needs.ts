import { createRequire } from 'node:module'
import { skipUnless } from '../support/skip-unless.ts'

/** Returns options for a test that needs a client or tool. */
export function needs(part: string, isAvailable: boolean): { skip: string | false } {
  return skipUnless(isAvailable, `${part} is not installed`)
}

const { resolve } = createRequire(import.meta.url)

/** Returns whether `npm ci --prefix test/wire` has installed the package. */
export function isInstalled(name: string): boolean {
  try {
    resolve(name)
    return true
  } catch {
    return false
  }
}
