import { after, type TestContext } from 'node:test'

/**
 * Replaces a test context for resources that all tests of a file share; runs the cleanup functions after the
 * last test, last added first.
 */
export function cleanupAfterFile(): Pick<TestContext, 'after'> {
  const acts: (() => unknown)[] = []
  after(async () => {
    for (const act of acts.reverse()) await act()
  })
  return { after: (act) => void acts.push(act as () => unknown) }
}
