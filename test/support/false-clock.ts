import { existsSync, globSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryDirectory } from './odd-repositories.ts'
import { skipUnless } from './skip-unless.ts'

const LIBRARY = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0] ?? ''

/** Options for tests with Debian's faketime, which changes the clock of one process only. */
export const needsFalseClock = skipUnless(existsSync(LIBRARY), 'faketime is not installed')

export interface FalseClock {
  /** For the process that is to believe it. */
  env: Record<string, string>
  /** So many hours away from the truth, from now on. */
  set(hours: number): void
}

/** The clock of the day that a process sees. That which only counts on goes on counting, as it does in a real machine. */
export function falseClock(t: Pick<TestContext, 'after'>): FalseClock {
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
