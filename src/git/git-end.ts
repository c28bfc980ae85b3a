import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { killTree, watchForHang } from './process-tree.ts'

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
    killTree(child.pid)
    setTimeout(() => {
      child.stdout.destroy()
      child.stderr.destroy()
      settle(null, 'SIGKILL')
    }, LONGEST_DEATH_MS).unref()
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
