import { after, type TestContext } from 'node:test'

/** Stands in for a test's context where what is made serves all tests of a file; undone after the last, newest first. */
export function forTheWholeFile(): Pick<TestContext, 'after'> {
  const acts: (() => unknown)[] = []
  after(async () => {
    for (const act of acts.reverse()) await act()
  })
  return { after: (act) => void acts.push(act as () => unknown) }
}
