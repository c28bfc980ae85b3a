import { after } from 'node:test'

const acts: (() => unknown)[] = []

/** Runs it when the last test of this process has ended, newest first; for what tests of several files share. */
export function atProcessEnd(act: () => unknown): void {
  acts.push(act)
}

export async function endProcess(): Promise<void> {
  for (const act of acts.splice(0).reverse()) await act()
}

// A measurement borrows parts of the tests and calls this itself: a hook would bring it the summary of no tests.
if (process.argv[1]?.endsWith('.test.ts')) after(endProcess)
