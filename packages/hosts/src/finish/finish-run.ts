import { createReadStream, existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SettingsRecord } from '@godwit/archive/formats/gitea-dump/finish-records'
import { lockFile } from '@godwit/lib/file-lock'
import { UserError } from '@godwit/lib/user-error'
import type { TargetServer } from '../forge/target-server.ts'
import { HostRequestFailed, HostServerError, HostUnavailable } from '../host-errors.ts'
import type { Json } from '../http/json-fields.ts'

export interface FinishRunOptions {
  server: TargetServer
  journal: Journal
  isDryRun: boolean
  signal: AbortSignal
  /** Called with each thing that was done, or that a dry run would do. */
  onStep(text: string): void
  /** Called before the run waits because the server asks for it or does not respond. */
  onWait(message: string): void
}

const MAX_ATTEMPTS = 4
/** The pause before the second attempt, if the server does not ask for another; it doubles for each further one. */
const FIRST_PAUSE_MS = 1000
/** The longest pause that is waited for. If the server asks for a longer one, the run ends, and the user starts the command again. */
const MAX_WAIT_MS = 10 * 60_000

export type FinishRun = ReturnType<typeof startRun>

/** Returns a run that does steps on one server, and collects what was done and what was not. */
export function startRun({ server, journal, isDryRun, signal, onStep, onWait }: FinishRunOptions) {
  const run = {
    server,
    journal,
    isDryRun,
    signal,
    /** How many steps were done, by kind. */
    done: new Map<string, number>(),
    failed: [] as string[],
    /** How often something was left out, by the reason. */
    leftOut: new Map<string, number>(),
    /** Called once before the next step, such as to unarchive the repository. */
    prepare: undefined as (() => Promise<unknown>) | undefined,

    leaveOut(reason: string, count = 1): undefined {
      if (count > 0) run.leftOut.set(reason, (run.leftOut.get(reason) ?? 0) + count)
    },

    /** Leaves something out because the version of the server has no operation for it. */
    leaveOutUnsupported(what: string, count = 1): undefined {
      const { kind, text } = server.version
      run.leaveOut(`${kind} ${text} cannot ${what} over its API`, count)
    },

    /** Records that the server refused something. Throws any error that ends the run, such as that the token is not accepted. */
    recordFailure(what: string, error: unknown): void {
      if (!(error instanceof HostRequestFailed) || error.status === 401) throw error
      run.failed.push(`${what}: ${error.message}`)
    },

    /**
     * Does one step, or only names it in a dry run. `act` looks at the server before it writes, because it is called again after the
     * connection was lost. Returns false if the server refuses the step; the run goes on. Rejects with HostUnavailable if the server
     * stays unavailable, and with HostRequestFailed if it does not accept the token.
     */
    async step(kind: string, text: string, act: () => Promise<unknown>): Promise<boolean> {
      try {
        if (!isDryRun) await attempt(text, act)
      } catch (error) {
        run.recordFailure(text, error)
        return false
      }
      run.done.set(kind, (run.done.get(kind) ?? 0) + 1)
      onStep(text)
      return true
    },
  }

  async function attempt(text: string, act: () => Promise<unknown>): Promise<void> {
    for (let attempts = 1; ; attempts++)
      try {
        await run.prepare?.()
        run.prepare = undefined
        await act()
        return await journal.record({ step: text })
      } catch (error) {
        signal.throwIfAborted()
        const isUnavailable = error instanceof HostUnavailable
        if (!isUnavailable && !(error instanceof HostServerError)) throw error
        const waitMs =
          isUnavailable && error.reason === 'rate_limited'
            ? error.dueAt - Date.now()
            : FIRST_PAUSE_MS * 2 ** (attempts - 1)
        if (attempts === MAX_ATTEMPTS || waitMs > MAX_WAIT_MS) throw error
        onWait(`${error.message}; trying again`)
        await sleep(Math.max(0, waitMs), undefined, { signal })
      }
  }

  return run
}

/** A repository on the server, and its dump. */
export interface RepositoryContext {
  run: FinishRun
  /** The directory of its dump. */
  directory: string
  settings: SettingsRecord
  owner: string
  /** `owner/name` on the server. */
  fullName: string
  /** The path of the repository below `/api/v1`. */
  path: string
  /** The repository as the server returned it at the beginning. */
  repository: Json
  /** Returns the accounts that the people file maps these old logins to, if they exist on the server. The others are left out. */
  accountsOf(logins: readonly string[]): Promise<string[]>
}

type Journal = Awaited<ReturnType<typeof openJournal>>

/**
 * Opens the journal of what was done on a server, one JSON value on each line. A line is on the disk before the next step begins. Only
 * one process can have a journal open. The last line is ignored if a crash truncated it: every step looks at the server before it
 * writes. A dry run reads the journal and does not write it.
 */
export async function openJournal(path: string, { isDryRun }: { isDryRun: boolean }) {
  const { file, unlock } = isDryRun ? {} : await openLocked(path)
  const addresses = await readAddresses(path)
  return {
    /** Returns the address of a file that an earlier run uploaded. */
    addressOf: (uploaded: string): string | undefined => addresses.get(uploaded),

    async record(done: { step: string; file?: string; address?: string }): Promise<void> {
      if (done.file && done.address) addresses.set(done.file, done.address)
      await file?.write(`${JSON.stringify({ at: new Date().toISOString(), ...done })}\n`)
      await file?.sync()
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await file?.close()
      unlock?.()
    },
  }
}

async function openLocked(path: string) {
  const file = await open(path, 'a').catch((error: Error) => {
    const message = `cannot write the journal of what was done: ${error.message}`
    throw new UserError(message, { cause: error })
  })
  const unlock = lockFile(`${path}.lock`)
  if (!unlock) {
    await file.close()
    throw new UserError(`another godwit finish is running: it has locked ${path}`)
  }
  // Ends a line that a crash truncated.
  if ((await file.stat()).size > 0) await file.write('\n')
  return { file, unlock }
}

async function readAddresses(path: string): Promise<Map<string, string>> {
  const addresses = new Map<string, string>()
  if (!existsSync(path)) return addresses
  for await (const line of createInterface(createReadStream(path)))
    try {
      const { file, address } = JSON.parse(line)
      if (typeof file === 'string' && typeof address === 'string') addresses.set(file, address)
    } catch {
      // An empty or truncated line.
    }
  return addresses
}
