import type { TestContext } from 'node:test'

const UNREACHABLE = /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTCACHED/

/** Skips the test if npm failed because it cannot reach the registry of packages. Throws any other error, and in CI every error. */
export function skipIfUnreachable(t: Pick<TestContext, 'skip'>, error: unknown): void {
  const { stderr } = error as { stderr: string }
  if (process.env.CI === 'true' || !UNREACHABLE.test(stderr)) throw error
  t.skip('the registry of packages cannot be reached')
}
