import { readdirSync, readFileSync } from 'node:fs'

/** Returns the running child processes of a process. Only Linux has this information. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
        .split(' ')
        .filter(Boolean)
        .map(Number),
    )
  } catch {
    // The process ended in the meantime.
    return []
  }
}

/** Returns false if the process does not exist any more. */
export function signal(pid: number, how: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, how)
  } catch {
    return false
  }
}
