import type { ChildProcessByStdio } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'

const LONGEST_MESSAGE = 4096
/** For a process that was killed to end; one that waits for a dead disk does not. */
const LONGEST_DEATH_MS = 5000

/** What git said when it refused, kept apart from the command so that a reason can be shown to a user. */
export class GitFailed extends Error {
  override name = 'GitFailed'
  readonly exitCode: number | null
  readonly said: string
  /** Set where it was we who ended it, for the time it took. */
  readonly tookTooLong: string | undefined

  constructor(args: readonly string[], { exitCode, said, tookTooLong, killedBy, cause }: Failure) {
    super(`git ${args[0]} ${tookTooLong ?? howItEnded(exitCode, said, killedBy, cause)}`, { cause })
    this.exitCode = exitCode
    this.said = said
    this.tookTooLong = tookTooLong
  }
}

interface Failure {
  exitCode: number | null
  said: string
  tookTooLong?: string | undefined
  killedBy?: string | null
  cause?: unknown
}

function howItEnded(
  exitCode: number | null,
  said: string,
  killedBy: string | null | undefined,
  cause: unknown,
): string {
  if (cause instanceof Error && 'syscall' in cause) return `could not be run: ${cause.message}`
  if (cause !== undefined) return 'was stopped'
  if (killedBy) return `was killed (${killedBy})`
  return `failed (${exitCode ?? 'stopped'}): ${said || 'no message'}`
}

interface Limits {
  timeoutMs: number
  idleTimeoutMs: number
  signal: AbortSignal | undefined
  mustNotSay: RegExp | undefined
}

/** However it ends: by itself, aborted, or stopped by us because it takes too long or hangs. */
export function ended(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  args: readonly string[],
  { timeoutMs, idleTimeoutMs, signal, mustNotSay }: Limits,
): Promise<void> {
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < LONGEST_MESSAGE) said += text
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let cause: unknown
  let tookTooLong: string | undefined

  function settle(exitCode: number | null, killedBy: string | null): void {
    forget()
    const message = said.slice(0, LONGEST_MESSAGE).trim()
    if (exitCode === 0 && cause === undefined && !mustNotSay?.test(message)) resolve()
    else reject(new GitFailed(args, { exitCode, said: message, tookTooLong, killedBy, cause }))
  }

  function stop(): void {
    if (child.pid === undefined) return
    const waitNoLonger = () => {
      child.stdout.destroy()
      child.stderr.destroy()
      settle(null, 'SIGKILL')
    }
    // Once it has ended its number may be somebody else's: only what it left behind keeps us waiting.
    const isOver = child.exitCode !== null || child.signalCode !== null
    if (!isOver) killTree(child.pid)
    setTimeout(waitNoLonger, isOver ? 0 : LONGEST_DEATH_MS).unref()
  }
  function stopFor(tooLong: string): void {
    tookTooLong ??= tooLong
    stop()
  }
  function abort(): void {
    cause = signal?.reason
    stop()
  }

  const clock = setTimeout(() => stopFor(`took more than ${inWords(timeoutMs)}`), timeoutMs)
  const hang = () => stopFor(`made no progress for ${inWords(idleTimeoutMs)}`)
  const stopWatching = child.pid && watchForHang(child.pid, idleTimeoutMs, hang)
  function forget(): void {
    clearTimeout(clock)
    if (stopWatching) stopWatching()
    signal?.removeEventListener('abort', abort)
  }
  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort, { once: true })
  child.once('error', (error) => {
    cause = error
  })
  child.once('close', settle)
  return promise
}

const inWords = (ms: number): string =>
  ms < 60_000 ? `${ms / 1000} seconds` : `${Math.round(ms / 60_000)} minutes`

const LOOKS = 4

/**
 * Calls `onHang` when the process and all that it has started have neither computed, read nor written anything for so
 * long. Only Linux counts that for us; elsewhere nothing is ever found to hang. Returns the function that stops looking.
 */
function watchForHang(pid: number, idleTimeoutMs: number, onHang: () => void): () => void {
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
function killTree(pid: number): void {
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
