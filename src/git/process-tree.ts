import { readdirSync, readFileSync } from 'node:fs'

const LOOKS = 4

/**
 * Calls `onHang` when the process and all that it has started have neither computed, read nor written anything for so
 * long. Only Linux counts that for us; elsewhere nothing is ever found to hang. Returns the function that stops looking.
 */
export function watchForHang(pid: number, idleTimeoutMs: number, onHang: () => void): () => void {
  let last = workOf(pid)
  let looksInVain = 0
  const timer = setInterval(() => {
    const work = workOf(pid)
    looksInVain = work !== undefined && work === last ? looksInVain + 1 : 0
    last = work
    if (looksInVain >= LOOKS) onHang()
  }, idleTimeoutMs / LOOKS)
  timer.unref()
  return () => clearInterval(timer)
}

/** The children as well: one that outlives its parent would keep the pipes open that we wait for. */
export function killTree(pid: number): void {
  for (const each of treeOf(pid)) {
    try {
      process.kill(each, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Something that changes with every bit of work that is done; undefined where it cannot be known. */
function workOf(pid: number): string | undefined {
  try {
    return treeOf(pid)
      .map((each) => {
        const times = readFileSync(`/proc/${each}/stat`, 'latin1').split(') ')[1]!.split(' ')
        // In clock ticks: user, system, and both of children that have ended.
        return `${each} ${times.slice(11, 15).join()} ${readFileSync(`/proc/${each}/io`, 'latin1')}`
      })
      .join()
  } catch {
    return undefined
  }
}

function treeOf(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) => childrenOf(pid, thread))
  return [pid, ...children.flatMap(treeOf)]
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function childrenOf(pid: number, thread: string): number[] {
  try {
    const listed = readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
    return listed.split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
