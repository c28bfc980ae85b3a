import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { atProcessEnd } from '../support/process-end.ts'
import type { Client, Migration } from './migration-lifecycle.ts'
import { needs } from './needs.ts'
import type { ServerUnderTest } from './server-under-test.ts'
import type { WalkedRepository } from './walked-repository.ts'

const SCRIPT = new URL('pygithub_client.py', import.meta.url).pathname

let found: { python: string | undefined } | undefined

/** Debian's packages belong to Debian's own Python, which may not be the first on the PATH. */
function findPython(): string | undefined {
  found ??= {
    python: ['python3', '/usr/bin/python3'].find(
      (python) => spawnSync(python, ['-c', 'import github.Migration']).status === 0,
    ),
  }
  return found.python
}

export const needsPyGithub = () => needs('PyGithub', findPython() !== undefined)

export interface PyGithub extends Client {
  start(...parameters: Parameters<Client['start']>): Promise<Migration & { created_at: string }>
  login(): Promise<string>
  /** Returns the full names of the caller's repositories. The parameters are those of PyGithub. */
  userRepositories(parameters: Record<string, string>): Promise<string[]>
  /** Follows the URLs from a migration to its repositories and everything below them. */
  walk(id: number): Promise<WalkedRepository[]>
  /** Returns the keys of the common licences. */
  licenses(): Promise<string[]>
  rateLimit(): Promise<{ limit: number; remaining: number }>
}

type Caller = [url: string, token: string, org: string | null]
type Call = (caller: Caller, operation: string, args: unknown[]) => Promise<Record<string, unknown>>

/** Starts a process that reads a request per line and writes a response per line. */
function startScript(): Call {
  const python = findPython()
  if (python === undefined) throw new Error('PyGithub is not installed')
  const script = spawn(python, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] })
  atProcessEnd(async () => {
    if (script.exitCode !== null || script.signalCode !== null) return
    script.stdin.end()
    await once(script, 'exit')
  })
  const responses = createInterface(script.stdout)[Symbol.asyncIterator]()
  return async (caller, operation, args) => {
    script.stdin.write(`${JSON.stringify([...caller, operation, args])}\n`)
    const { value: line } = await responses.next()
    if (line === undefined) throw new Error(`PyGithub ended during ${operation}`)
    return JSON.parse(line)
  }
}

let script: Call | undefined

/** Returns a client. All clients of this process share one script, because loading PyGithub takes longer than a request. */
export function pyGithubClient({
  url,
  token,
  org,
}: Pick<ServerUnderTest, 'url' | 'token'> & { org?: string }): PyGithub {
  async function call<T>(operation: string, ...args: unknown[]): Promise<T> {
    script ??= startScript()
    const response = await script([url, token, org ?? null], operation, args)
    if ('done' in response) return response.done as T
    throw Object.assign(new Error(String(response.refused)), { status: response.status })
  }

  return {
    login: () => call('login'),
    userRepositories: (parameters) => call('user_repositories', parameters),
    walk: (id) => call('walk', id),
    licenses: () => call('licenses'),
    rateLimit: () => call('rate_limit'),
    start: (repositories, { lock }) => call('start', repositories, lock),
    async *list(perPage) {
      yield* pagesOf(await call<number[]>('list_migrations', perPage), perPage)
    },
    status: (id) => call('status', id),
    async *repositories(id, perPage) {
      yield* pagesOf(await call<string[]>('repositories', id, perPage), perPage)
    },
    download: (id, file) => call('download', id, file),
    unlock: (id, name) => call('unlock', id, name),
    deleteArchive: (id) => call('delete_archive', id),
  }
}

/** PyGithub paginates internally and returns one list, so pages are made of it. */
function* pagesOf<T>(items: T[], perPage: number): Iterable<T[]> {
  for (let at = 0; at < items.length; at += perPage) yield items.slice(at, at + perPage)
}
