import type { ChildProcessByStdio } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'

const LONGEST_MESSAGE = 4096
/** For a process that was killed to end; one that waits for a dead disk does not. */
const LONGEST_DEATH_MS = 5000

/** What git said when it refused, kept apart from the command so that a reason can be shown to a user. */
export class GitFailed extends Error {
  override name = 'GitFailed'
  readonly exitCode: number | null
  readonly said: string
  /** Set where it was we who ended it, for the time it took or the memory. */
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
  firstByteTimeoutMs: number | undefined
  idleTimeoutMs: number
  /** In bytes. */
  maxMemory: number
  signal: AbortSignal | undefined
  mustNotSay: RegExp | undefined
}

/** However it ends: by itself, aborted, or stopped by us because it takes too long or hangs. */
export function ended(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  args: readonly string[],
  { timeoutMs, firstByteTimeoutMs, idleTimeoutMs, maxMemory, signal, mustNotSay }: Limits,
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
  const noByte = () => {
    if ((child.stdout as Socket).bytesRead === 0)
      stopFor(`wrote nothing and made no progress for ${inWords(firstByteTimeoutMs!)}`)
  }
  const growth = () => stopFor(`took more than ${Math.round(maxMemory / MIB)} MiB of memory`)
  const watches =
    child.pid === undefined
      ? []
      : [
          watchForHang(child.pid, idleTimeoutMs, hang),
          ...(firstByteTimeoutMs ? [watchForHang(child.pid, firstByteTimeoutMs, noByte)] : []),
          watchMemory(child.pid, maxMemory, growth),
        ]
  function forget(): void {
    clearTimeout(clock)
    for (const watch of watches) clearInterval(watch)
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
/** The first has nothing to be compared with. */
const LOOKS_WITH_FIRST = LOOKS + 1

/**
 * Calls `onHang` when the process and all that it has started have neither computed, read nor written anything for so
 * long. Only Linux counts that for us; elsewhere nothing is ever found to hang. It ends when the timer is cleared.
 */
function watchForHang(pid: number, idleTimeoutMs: number, onHang: () => void): NodeJS.Timeout {
  let last: string | undefined
  let looksInVain = 0
  const timer = setInterval(() => {
    const work = workOf(pid)
    looksInVain = work !== undefined && work === last ? looksInVain + 1 : 0
    last = work
    if (looksInVain >= LOOKS) onHang()
  }, idleTimeoutMs / LOOKS_WITH_FIRST)
  return timer.unref()
}

const MIB = 1024 * 1024
/** Most gits have ended by then. */
const MEMORY_LOOK_MS = 250

/**
 * Calls `onGrowth` when the process and all that it has started hold more memory of their own than that. A limit of the
 * kernel would have to be set by one more program at each start, which costs a third of what git does; it would count
 * packs, too, which git maps and which may be larger than memory. Works on Linux alone.
 */
function watchMemory(pid: number, maxMemory: number, onGrowth: () => void): NodeJS.Timeout {
  const timer = setInterval(() => {
    const sum = treeOf(pid).reduce((held, each) => held + memoryOf(each), 0)
    if (sum > maxMemory) onGrowth()
  }, MEMORY_LOOK_MS)
  return timer.unref()
}

/** In bytes, with what was swapped out and without files that are mapped. */
function memoryOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    const held = status.matchAll(/^(?:RssAnon|VmSwap):\s+(\d+) kB$/gm)
    return held.reduce((sum, [, kib]) => sum + Number(kib) * 1024, 0)
  } catch {
    return 0
  }
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
        const io = readFileSync(`/proc/${each}/io`, 'latin1')
        // In clock ticks: user, system, and both of children that have ended.
        return `${each} ${times.slice(11, 15).join()} ${withoutSignsOfLife(io)}`
      })
      .join()
  } catch {
    return undefined
  }
}

/** While it waits for its child, upload-pack writes five bytes every five seconds to keep the connection open. */
function withoutSignsOfLife(io: string): string {
  return io
    .replace(/^syscw:.*$/m, '')
    .replace(/^wchar: (\d+)$/m, (_, bytes) => String(Math.floor(Number(bytes) / 4096)))
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
