import { existsSync, globSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryDirectory } from './sample-repositories.ts'
import { skipUnless } from './skip-unless.ts'

const LIBRARY = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0] ?? ''

/** Options for tests with Debian's faketime, which changes the clock of one process only. */
export const needsFaketime = skipUnless(existsSync(LIBRARY), 'faketime is not installed')

export interface FakeClock {
  /** The environment of the process that sees this clock. */
  env: Record<string, string>
  /** Sets the clock to this many hours from the real time. */
  set(hours: number): void
}

/** Makes a wall clock for a process. Its monotonic clock is unchanged, as when the clock of a real machine is set. */
export function fakeClock(t: Pick<TestContext, 'after'>): FakeClock {
  const file = join(temporaryDirectory(t), 'clock')
  const set = (hours: number) => {
    writeFileSync(`${file}.new`, `${hours < 0 ? '-' : '+'}${Math.abs(hours) * 3600}\n`)
    renameSync(`${file}.new`, file)
  }
  set(0)
  return {
    set,
    env: {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
  }
}
