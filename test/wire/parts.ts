import { createRequire } from 'node:module'

/** For a test that needs a part: where it is absent the test is skipped by name, except in CI, where it fails. */
export function needs(part: string, isThere: boolean): { skip: string | false } {
  return { skip: !isThere && process.env.CI !== 'true' && `${part} is not installed` }
}

const { resolve } = createRequire(import.meta.url)

/** Whether `npm ci --prefix test/wire` has brought the package. */
export function isInstalled(name: string): boolean {
  try {
    resolve(name)
    return true
  } catch {
    return false
  }
}
