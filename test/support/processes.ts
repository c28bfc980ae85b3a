import { readdirSync, readFileSync } from 'node:fs'

/** The processes that this one, or a thread of it, has started and that still run. Linux alone can tell. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
        .split(' ')
        .filter(Boolean)
        .map(Number),
    )
  } catch {
    // It ended while it was looked at.
    return []
  }
}

/** False when there is no such process any more. */
export function signal(pid: number, how: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, how)
  } catch {
    return false
  }
}
