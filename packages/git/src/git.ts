import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { constants as osConstants, setPriority, totalmem } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { addDiskDetails } from '@godwit/lib/disk-errors'
import { hasCode } from '@godwit/lib/errno'
import { makeDirectory } from '@godwit/lib/make-directory'
import { GitFailed, waitForExit } from './git-process.ts'

export interface GitCall {
  /** The repository, passed as GIT_DIR so that git never searches for one. */
  dir?: string
  input?: string | Buffer
  signal?: AbortSignal
  /** Default 10 minutes. */
  timeoutMs?: number
  /** How long git may make no progress before its first byte of output. Default: as long as later. */
  firstByteTimeoutMs?: number
  /** Git fails if its output is longer. Applies to `run` and `text`; default 64 MiB. */
  maxBytes?: number
  config?: Record<string, string>
  /** Exit code 1 means that git has found nothing: `run` and `text` then return its output, which is empty. */
  mayFindNothing?: boolean
  /** Git has failed if its error output matches this, even with exit code 0. */
  failurePattern?: RegExp
  /** Called about once a second with the number of objects since the last call, if the arguments have `PROGRESS`. */
  onProgress?: ((objects: number) => void) | undefined
  /** The version of git's protocol that the client of a served fetch speaks. */
  protocolVersion?: 0 | 1 | 2
  /** Runs git with a lower priority than the rest of the machine. */
  isLowPriority?: boolean
}

/** The timeout for commands that read a whole repository, which may be large and on a slow disk. */
export const LONG_TIMEOUT_MS = 86_400_000

export const PROGRESS = '--progress=Objects'

export interface RunningGit {
  stdout: Readable
  stdin: Writable
  /** Resolves when git has exited with code 0; rejects with GitFailed otherwise. */
  done: Promise<void>
  /** That of the call, for a caller that counts objects in the output. */
  onProgress?: GitCall['onProgress']
}

/** Runs git commands. All reject with GitFailed unless git exits with code 0. */
export interface Git {
  run(args: readonly string[], call?: GitCall): Promise<Buffer>
  text(args: readonly string[], call?: GitCall): Promise<string>
  /** Starts git without waiting for it: the caller reads stdout, writes stdin, and awaits `done`. */
  start(args: readonly string[], call?: GitCall): RunningGit
}

/** A repository must not make git run a program, use the network, prompt the user or write to the source. */
const LOCKED_DOWN: Record<string, string> = {
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_GRAFT_FILE: '/dev/null',
  // Without a working tree git does not search for .gitattributes, even if the config does not say that the repository is bare.
  GIT_IMPLICIT_WORK_TREE: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
}

/**
 * Options of every git process. They override settings of the repository that name files, run programs or use the network. Among the
 * first three, the commands used here read only `core.attributesFile`; the other two are a precaution.
 */
const COMMON_OPTIONS = [
  '--no-pager',
  ...[
    'core.attributesFile=/dev/null',
    'core.excludesFile=/dev/null',
    'mailmap.file=/dev/null',
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'protocol.allow=never',
    // GIT_GRAFT_FILE would give every error of git a hint about it.
    'advice.graftFileDeprecated=false',
  ].flatMap((set) => ['-c', set]),
]

const DEFAULT_TIMEOUT_MS = 600_000

export interface GitOptions {
  program: string
  /** The PATH of the process; git needs it to find its own programs. */
  searchPath: string
  /** A directory of ours that is HOME for git, so that no personal configuration applies. */
  home: string
  /** How long git may make no progress before it is killed. Default 10 minutes. */
  idleTimeoutMs?: number
  /** The memory in bytes that git and its children may use, without mapped files. Default: half of the machine's. */
  maxMemory?: number | undefined
}

/** A container can have a lower limit than the memory of the machine. */
const halfOfMemory = (): number =>
  Math.floor(Math.min(process.constrainedMemory() || totalmem(), totalmem()) / 2)

/** Every git process of Godwit is started here. */
export function createGit({
  program,
  searchPath,
  home,
  idleTimeoutMs = DEFAULT_TIMEOUT_MS,
  maxMemory = halfOfMemory(),
}: GitOptions): Git {
  writeHome(home)
  // Git refuses a single allocation beyond GIT_ALLOC_LIMIT; `waitForExit` watches the sum.
  const env = {
    ...LOCKED_DOWN,
    PATH: searchPath,
    HOME: home,
    XDG_CONFIG_HOME: home,
    GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
    GIT_ALLOC_LIMIT: String(maxMemory),
  }

  function start(args: readonly string[], call: GitCall = {}): RunningGit {
    const settings = Object.entries(call.config ?? {}).flatMap(([key, value]) => [
      '-c',
      `${key}=${value}`,
    ])
    const child = spawn(program, [...COMMON_OPTIONS, ...settings, ...args], {
      env: {
        ...env,
        ...(call.dir !== undefined && { GIT_DIR: call.dir }),
        ...(call.protocolVersion && { GIT_PROTOCOL: `version=${call.protocolVersion}` }),
      },
      cwd: home,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    // Without free file handles, spawn returns a child without pipes, and emits an error that must be handled.
    if (!child.stdout) {
      child.once('error', () => {})
      throw new Error(`git ${args[0]} could not be started: too many open files`)
    }
    if (call.isLowPriority && child.pid !== undefined) lowerPriority(child.pid)
    const limits = { timeoutMs: DEFAULT_TIMEOUT_MS, ...call, idleTimeoutMs, maxMemory }
    const done = waitForExit(child, args, limits)
    // Callers read the output before they await `done`; a failure meanwhile is not an unhandled rejection.
    done.catch(() => {})
    return { stdout: child.stdout, stdin: child.stdin, done, onProgress: call.onProgress }
  }

  return {
    start,
    run: (args, call) => readOutput(start, args, call),
    text: async (args, call) => (await readOutput(start, args, call)).toString('utf8'),
  }
}

export const withProgress = (git: Git, onProgress: GitCall['onProgress']): Git => ({
  ...git,
  run: (args, call) => git.run(args, { ...call, onProgress }),
  start: (args, call) => git.start(args, { ...call, onProgress }),
})

/** Children that git starts later inherit the priority. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, osConstants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has exited already.
  }
}

async function readOutput(
  start: Git['start'],
  args: readonly string[],
  call: GitCall = {},
): Promise<Buffer> {
  const tooLong = new AbortController()
  const signal = call.signal ? AbortSignal.any([call.signal, tooLong.signal]) : tooLong.signal
  const git = start(args, { ...call, signal })
  // Git may exit without reading its input; then `done` rejects with the reason.
  git.stdin.on('error', () => {})
  git.stdin.end(call.input ?? '')
  const limit = call.maxBytes ?? 64 * 1024 * 1024
  const chunks: Buffer[] = []
  let size = 0
  git.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > limit) tooLong.abort()
    else chunks.push(chunk)
  })
  await git.done.catch((error: unknown) => {
    if (call.mayFindNothing && error instanceof GitFailed && error.exitCode === 1) return
    if (size <= limit) throw error
    const stderr = `its output is longer than ${limit} bytes`
    throw new GitFailed(args, { exitCode: null, stderr })
  })
  return Buffer.concat(chunks)
}

const HOME_CONFIG = `[safe]
	directory = *
[uploadpack]
	allowFilter = true
[uploadpackfilter "sparse:oid"]
	allow = false
`

/**
 * Writes the global config with partial clones, which a repository's own config can forbid, and with safe.directory: git hosts keep
 * their repositories under another user, and git accepts this setting only from a global file. All versions since 2.30 find the file
 * through HOME.
 */
function writeHome(home: string): void {
  makeDirectory(home, 0o700)
  const file = join(home, '.gitconfig')
  // Nothing is written without need, so that commands work on a full disk.
  if (hasContent(file, HOME_CONFIG)) return
  // Several threads of a process may do this at the same time.
  const draft = `${file}.${randomUUID()}`
  try {
    writeFileSync(draft, HOME_CONFIG)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw addDiskDetails(error, file)
  }
}

/** Returns false also for a file that cannot be read. */
function hasContent(file: string, content: string): boolean {
  try {
    return readFileSync(file, 'utf8') === content
  } catch {
    return false
  }
}

const MIN_VERSION = [2, 30] as const
const ADVICE = `install git ${MIN_VERSION.join('.')} or newer, or set --git`

type GitProgram = Pick<GitOptions, 'program' | 'searchPath'>

/** Describes the installed git, with advice if it cannot be used. */
interface InstalledGit {
  found: string
  advice?: string
}

export async function findGit(options: GitProgram, git: Git): Promise<InstalledGit> {
  const program = findProgram(options)
  let version: string
  try {
    version = (await git.text(['--version'])).trim()
  } catch (error) {
    return { found: startFailure(options, error), advice: ADVICE }
  }
  const [, major, minor] = /\b(\d+)\.(\d+)/.exec(version) ?? []
  if (!major || !minor)
    return { found: `${program} printed "${version}" instead of a version`, advice: ADVICE }
  const found = `${version.replace(/^git version /, '')}, at ${program}`
  const isOld =
    Number(major) < MIN_VERSION[0] ||
    (Number(major) === MIN_VERSION[0] && Number(minor) < MIN_VERSION[1])
  return isOld ? { found: `${found}, is too old`, advice: ADVICE } : { found }
}

function startFailure({ program, searchPath }: GitProgram, error: unknown): string {
  const cause = error instanceof GitFailed ? (error.cause ?? error) : error
  if (!hasCode(cause, 'ENOENT')) return `${program} cannot be run: ${(cause as Error).message}`
  return program.includes('/') ? `${program} does not exist` : `no ${program} in ${searchPath}`
}

/** Returns the path of the program that runs: several directories of the search path may have one. */
function findProgram({ program, searchPath }: GitProgram): string {
  if (program.includes('/')) return program
  const paths = searchPath.split(delimiter).map((folder) => join(folder, program))
  return paths.find(canRun) ?? program
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
