import { after } from 'node:test'

const acts: (() => unknown)[] = []

/** Runs it when the last test of this process has ended, newest first; for what tests of several files share. */
export function atProcessEnd(act: () => unknown): void {
  acts.push(act)
}

after(async () => {
  for (const act of acts.reverse()) await act()
})
