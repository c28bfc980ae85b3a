import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { constants, setPriority, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { makeDirectory } from '../lib/make-directory.ts'
import { ended, GitFailed } from './git-end.ts'

export interface GitCall {
  /** The repository, handed over as GIT_DIR so that git never goes looking for one. */
  dir?: string
  input?: string | Buffer
  signal?: AbortSignal
  /** Default 10 minutes. */
  timeoutMs?: number
  /** How long it may do nothing at all before its first byte of output; by default as long as after it. */
  firstByteTimeoutMs?: number
  /** More output than this is a failure, not a growing heap. */
  maxBytes?: number
  config?: Record<string, string>
  /** What git must not say on its error output: then it has failed, although it exits with 0. */
  mustNotSay?: RegExp
  /** Which version of git's protocol its client speaks, where it serves one. */
  protocolVersion?: 0 | 1 | 2
  /** Lets whatever else this machine has to do go first. */
  yields?: boolean
}

/** The time for what goes through a whole repository, which may be large, on a disk that may be slow. */
export const A_DAY = 86_400_000

export interface RunningGit {
  stdout: Readable
  stdin: Writable
  /** Settles when git has ended; rejects with GitFailed unless it exited 0. */
  done: Promise<void>
}

export interface Git {
  run(args: readonly string[], call?: GitCall): Promise<Buffer>
  text(args: readonly string[], call?: GitCall): Promise<string>
  start(args: readonly string[], call?: GitCall): RunningGit
}

/** Nothing a repository says may start a program, reach the network, ask a question or write to the source. */
const LOCKED_DOWN: Record<string, string> = {
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_GRAFT_FILE: '/dev/null',
  // A repository whose config does not say that it is bare has no working tree either, so no .gitattributes is looked for.
  GIT_IMPLICIT_WORK_TREE: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
}

/** Of the settings that name a file, the commands run here read `core.attributesFile` alone; the next two are for those to come. */
const ALWAYS = [
  '--no-pager',
  ...[
    'core.attributesFile=/dev/null',
    'core.excludesFile=/dev/null',
    'mailmap.file=/dev/null',
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'protocol.allow=never',
  ].flatMap((set) => ['-c', set]),
]

const TEN_MINUTES = 600_000

export interface GitOptions {
  program: string
  /** PATH of the child; git needs it to find its own parts. */
  searchPath: string
  /** A directory of ours that stands in for HOME, so that nobody's personal configuration counts. */
  home: string
  /** After how long a git that does nothing at all is stopped. */
  idleTimeoutMs?: number
  /** How many bytes of memory a git may hold with all that it starts, mapped files aside. Default: half of what there is. */
  maxMemory?: number | undefined
}

/** A container has less than its machine. */
const halfOfMemory = (): number =>
  Math.floor(Math.min(process.constrainedMemory() || totalmem(), totalmem()) / 2)

/** The only place that runs git. */
export function createGit({
  program,
  searchPath,
  home,
  idleTimeoutMs = TEN_MINUTES,
  maxMemory = halfOfMemory(),
}: GitOptions): Git {
  writeHome(home)
  // Git itself refuses to allocate more than this at once; the sum is watched.
  const env = { ...environmentIn(home, searchPath), GIT_ALLOC_LIMIT: String(maxMemory) }

  function start(args: readonly string[], call: GitCall = {}): RunningGit {
    const settings = Object.entries(call.config ?? {}).flatMap(([key, value]) => [
      '-c',
      `${key}=${value}`,
    ])
    const child = spawn(program, [...ALWAYS, ...settings, ...args], {
      env: { ...env, ...environmentOf(call) },
      cwd: home,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    // Out of file handles, spawn returns a child without pipes and tells why in an event that nobody would hear.
    if (!child.stdout) {
      child.once('error', () => {})
      throw new Error(`git ${args[0]} could not be started: too many open files`)
    }
    if (call.yields && child.pid !== undefined) yieldToOthers(child.pid)
    const { timeoutMs = TEN_MINUTES, firstByteTimeoutMs, signal, mustNotSay } = call
    const limits = { timeoutMs, firstByteTimeoutMs, idleTimeoutMs, maxMemory }
    const done = ended(child, args, { ...limits, signal, mustNotSay })
    // Who reads the output first looks at `done` later; until then a failure is not an unhandled one.
    done.catch(() => {})
    return { stdout: child.stdout, stdin: child.stdin, done }
  }

  return {
    start,
    run: (args, call) => outputOf(start, args, call),
    text: async (args, call) => (await outputOf(start, args, call)).toString('utf8'),
  }
}

const environmentIn = (home: string, searchPath: string) => ({
  ...LOCKED_DOWN,
  PATH: searchPath,
  HOME: home,
  XDG_CONFIG_HOME: home,
  GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
})

function environmentOf({ dir, protocolVersion }: GitCall): Record<string, string> {
  return {
    ...(dir !== undefined && { GIT_DIR: dir }),
    ...(protocolVersion && { GIT_PROTOCOL: `version=${protocolVersion}` }),
  }
}

/** Whatever it starts later inherits that. */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended already.
  }
}

async function outputOf(
  start: Git['start'],
  args: readonly string[],
  call: GitCall = {},
): Promise<Buffer> {
  const tooMuch = new AbortController()
  const signal = call.signal ? AbortSignal.any([call.signal, tooMuch.signal]) : tooMuch.signal
  const git = start(args, { ...call, signal })
  // git may end without having read its input: that is its failure to report, not a broken pipe of ours.
  git.stdin.on('error', () => {})
  git.stdin.end(call.input ?? '')
  const limit = call.maxBytes ?? 64 * 1024 * 1024
  const chunks: Buffer[] = []
  let size = 0
  git.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > limit) tooMuch.abort()
    else chunks.push(chunk)
  })
  await git.done.catch((error: unknown) => {
    if (size <= limit) throw error
    const said = `its output is longer than ${limit} bytes`
    throw new GitFailed(args, { exitCode: null, said })
  })
  return Buffer.concat(chunks)
}

/**
 * safe.directory is honoured by every git only from a global file, and git hosts keep their repositories under a user
 * of their own; all versions since 2.30 find this file through HOME.
 */
function writeHome(home: string): void {
  makeDirectory(home, 0o700)
  // Threads of one process come here at the same time.
  const mine = join(home, `.gitconfig.${randomUUID()}`)
  writeFileSync(mine, '[safe]\n\tdirectory = *\n')
  renameSync(mine, join(home, '.gitconfig'))
}
