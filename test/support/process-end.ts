import { after } from 'node:test'

const cleanups: (() => unknown)[] = []

/**
 * Runs the function after the last test of this process, last added first; for resources that several test files
 * share.
 */
export function atProcessEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

export async function endProcess(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}

// Benchmarks use parts of the tests and call `endProcess` themselves: a test hook would print a summary of no tests.
if (process.argv[1]?.endsWith('.test.ts')) after(endProcess)
