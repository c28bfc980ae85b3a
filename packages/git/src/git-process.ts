import type { ChildProcessByStdio } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'

const MAX_MESSAGE_LENGTH = 4096
/** How long to wait for a killed process to exit. A process that waits for a dead disk never does. */
const KILL_TIMEOUT_MS = 5000

/** Git did not exit with code 0. */
export class GitFailed extends Error {
  override name = 'GitFailed'
  /** Null if git was killed or could not be started. */
  readonly exitCode: number | null
  /** The beginning of git's error output, which tells a user the reason. */
  readonly stderr: string
  /** Set if we killed git because it exceeded a limit of time or memory. */
  readonly exceededLimit: string | undefined

  constructor(args: readonly string[], failure: Failure) {
    super(`git ${args[0]} ${describeFailure(failure)}`, { cause: failure.cause })
    this.exitCode = failure.exitCode
    this.stderr = failure.stderr
    this.exceededLimit = failure.exceededLimit
  }
}

interface Failure {
  exitCode: number | null
  stderr: string
  exceededLimit?: string | undefined
  killedBy?: string | null
  cause?: unknown
}

function describeFailure({ exitCode, stderr, exceededLimit, killedBy, cause }: Failure): string {
  if (exceededLimit !== undefined) return exceededLimit
  if (cause instanceof Error && 'syscall' in cause) return `could not be run: ${cause.message}`
  if (cause !== undefined) return 'was stopped'
  if (killedBy) return `was killed (${killedBy})`
  return `failed (${exitCode ?? 'stopped'}): ${stderr || 'no message'}`
}

interface Limits {
  timeoutMs: number
  firstByteTimeoutMs?: number
  idleTimeoutMs: number
  /** In bytes. */
  maxMemory: number
  signal?: AbortSignal
  failurePattern?: RegExp
  onProgress?: ((objects: number) => void) | undefined
}

/** Git's reports with `PROGRESS`. They are no part of its error message. */
const PROGRESS_REPORT = /^Objects: +(\d+).*[\r\n]/gm

/** Waits for git to exit, and kills it on abort or when it exceeds a limit. Rejects with GitFailed. */
export function waitForExit(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  args: readonly string[],
  limits: Limits,
): Promise<void> {
  const { timeoutMs, firstByteTimeoutMs, idleTimeoutMs, maxMemory, signal, failurePattern } = limits
  let stderr = ''
  let lastLine = ''
  let objects = 0
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const all = lastLine + text
    const end = Math.max(all.lastIndexOf('\r'), all.lastIndexOf('\n')) + 1
    lastLine = all.slice(end, end + MAX_MESSAGE_LENGTH)
    const message = all.slice(0, end).replace(PROGRESS_REPORT, (_, count) => {
      limits.onProgress?.(Number(count) - objects)
      objects = Number(count)
      return ''
    })
    if (stderr.length < MAX_MESSAGE_LENGTH) stderr += message
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let cause: unknown
  let exceededLimit: string | undefined

  function settle(exitCode: number | null, killedBy: string | null): void {
    stopWatching()
    const message = (stderr + lastLine).slice(0, MAX_MESSAGE_LENGTH).trim()
    if (exitCode === 0 && cause === undefined && !failurePattern?.test(message)) resolve()
    else reject(new GitFailed(args, { exitCode, stderr: message, exceededLimit, killedBy, cause }))
  }

  function stop(): void {
    if (child.pid === undefined) return
    const stopWaiting = () => {
      child.stdout.destroy()
      child.stderr.destroy()
      settle(null, 'SIGKILL')
    }
    // After git has exited, its pid may belong to another process, and only its children keep the pipes open.
    const hasExited = child.exitCode !== null || child.signalCode !== null
    if (!hasExited) killTree(child.pid)
    setTimeout(stopWaiting, hasExited ? 0 : KILL_TIMEOUT_MS).unref()
  }
  function stopBecause(reason: string): void {
    exceededLimit ??= reason
    stop()
  }
  function abort(): void {
    cause = signal?.reason
    stop()
  }

  const onTimeout = () => stopBecause(`took more than ${formatDuration(timeoutMs)}`)
  const timer = setTimeout(onTimeout, timeoutMs)
  const onHang = () => stopBecause(`made no progress for ${formatDuration(idleTimeoutMs)}`)
  const onNoOutput = () => {
    if ((child.stdout as Socket).bytesRead === 0)
      stopBecause(`wrote nothing and made no progress for ${formatDuration(firstByteTimeoutMs!)}`)
  }
  const onGrowth = () => stopBecause(`took more than ${Math.round(maxMemory / MIB)} MiB of memory`)
  const watches =
    child.pid === undefined
      ? []
      : [
          watchForHang(child.pid, idleTimeoutMs, onHang),
          ...(firstByteTimeoutMs ? [watchForHang(child.pid, firstByteTimeoutMs, onNoOutput)] : []),
          watchMemory(child.pid, maxMemory, onGrowth),
        ]
  function stopWatching(): void {
    clearTimeout(timer)
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

const formatDuration = (ms: number): string =>
  ms < 60_000 ? `${ms / 1000} seconds` : `${Math.round(ms / 60_000)} minutes`

/** How many comparisons in a row must show no progress. */
const IDLE_CHECKS = 4

/**
 * Calls `onHang` when the process and its children have not used the CPU, read or written anything for `idleTimeoutMs`. Works only on
 * Linux, until the timer is cleared.
 */
function watchForHang(pid: number, idleTimeoutMs: number, onHang: () => void): NodeJS.Timeout {
  let last: string | undefined
  let idleChecks = 0
  const timer = setInterval(
    () => {
      const work = measureWork(pid)
      idleChecks = work !== undefined && work === last ? idleChecks + 1 : 0
      last = work
      if (idleChecks >= IDLE_CHECKS) onHang()
    },
    idleTimeoutMs / (IDLE_CHECKS + 1),
  )
  return timer.unref()
}

const MIB = 1024 * 1024
/** Most git processes exit before the first check. */
const MEMORY_CHECK_INTERVAL_MS = 250

/**
 * Calls `onGrowth` when the process and its children use more than `maxMemory` bytes. A limit of the kernel would need another program
 * at each start, which adds a third to the cost of git, and would count mapped packs, which may be larger than memory. Works only on
 * Linux.
 */
function watchMemory(pid: number, maxMemory: number, onGrowth: () => void): NodeJS.Timeout {
  const timer = setInterval(() => {
    const used = processTree(pid).reduce((sum, each) => sum + memoryOf(each), 0)
    if (used > maxMemory) onGrowth()
  }, MEMORY_CHECK_INTERVAL_MS)
  return timer.unref()
}

/** Returns bytes, including swapped memory, without mapped files. */
function memoryOf(pid: number): number {
  const sizes = readProc(`${pid}/status`).matchAll(/^(?:RssAnon|VmSwap):\s+(\d+) kB$/gm)
  return sizes.reduce((sum, [, kib]) => sum + Number(kib) * 1024, 0)
}

/** Kills the children too: one that outlives its parent would keep open the pipes that we wait for. */
function killTree(pid: number): void {
  for (const each of processTree(pid)) ifAlive(() => process.kill(each, 'SIGKILL'))
}

/** Returns a string that changes with any progress of the process; undefined if its status cannot be read. */
function measureWork(pid: number): string | undefined {
  return ifAlive(() =>
    processTree(pid)
      .map((each) => {
        const times = readFileSync(`/proc/${each}/stat`, 'latin1').split(') ')[1]!.split(' ')
        const io = readFileSync(`/proc/${each}/io`, 'latin1')
        // Clock ticks: user, system, and both for children that have exited.
        return `${each} ${times.slice(11, 15).join()} ${withoutKeepAlives(io)}`
      })
      .join(),
  )
}

/** While upload-pack waits for its child, it writes five bytes every five seconds to keep the connection open. */
function withoutKeepAlives(io: string): string {
  return io
    .replace(/^syscw:.*$/m, '')
    .replace(/^wchar: (\d+)$/m, (_, bytes) => String(Math.floor(Number(bytes) / 4096)))
}

function processTree(pid: number): number[] {
  const threads = ifAlive(() => readdirSync(`/proc/${pid}/task`)) ?? []
  const children = threads.flatMap((thread) =>
    readProc(`${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(processTree)]
}

/** Returns the empty string for a process that has exited or cannot be read. */
const readProc = (file: string): string =>
  ifAlive(() => readFileSync(`/proc/${file}`, 'latin1')) ?? ''

/** Runs in timers and while git is killed, so it must not throw: processes that cannot be read count as exited. */
function ifAlive<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}
