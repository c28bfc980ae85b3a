/**
 * Returns options for a test that needs a program which may not be installed. Without it the test is skipped with this reason,
 * except under CI=true, where it runs and fails.
 */
export function skipUnless(isInstalled: boolean, reason: string): { skip: string | false } {
  return { skip: !isInstalled && process.env.CI !== 'true' && reason }
}
