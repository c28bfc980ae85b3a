import { after, type TestContext } from 'node:test'

/**
 * Replaces a test context for resources that all tests of a file share; runs the cleanup functions after the
 * last test, last added first.
 */
export function cleanupAfterFile(): Pick<TestContext, 'after'> {
  const cleanups: (() => unknown)[] = []
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })
  return { after: (cleanup) => void cleanups.push(cleanup as () => unknown) }
}
