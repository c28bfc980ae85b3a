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
  start(...asked: Parameters<Client['start']>): Promise<Migration & { created_at: string }>
  login(): Promise<string>
  /** Full names of what the caller may migrate; PyGithub's own parameters. */
  userRepositories(asked: Record<string, string>): Promise<string[]>
  /** From a migration to its repositories, and on to all that they lead to. */
  walk(id: number): Promise<WalkedRepository[]>
  /** Keys of those that are commonly used. */
  licenses(): Promise<string[]>
  rateLimit(): Promise<{ limit: number; remaining: number }>
}

type Whom = [url: string, token: string, org: string | null]
type Call = (whom: Whom, operation: string, args: unknown[]) => Promise<Record<string, unknown>>

/** A process that is asked a line, and answers a line. */
function startScript(): Call {
  const python = findPython()
  if (python === undefined) throw new Error('PyGithub is not installed')
  const script = spawn(python, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] })
  atProcessEnd(async () => {
    if (script.exitCode !== null || script.signalCode !== null) return
    script.stdin.end()
    await once(script, 'exit')
  })
  const answers = createInterface(script.stdout)[Symbol.asyncIterator]()
  return async (whom, operation, args) => {
    script.stdin.write(`${JSON.stringify([...whom, operation, args])}\n`)
    const { value: line } = await answers.next()
    if (line === undefined) throw new Error(`PyGithub died of ${operation}`)
    return JSON.parse(line)
  }
}

let script: Call | undefined

/** One process for all clients of the tests that run in this one, since to load PyGithub takes longer than to ask. */
export function pyGithubClient({
  url,
  token,
  org,
}: Pick<ServerUnderTest, 'url' | 'token'> & { org?: string }): PyGithub {
  async function call<T>(operation: string, ...args: unknown[]): Promise<T> {
    script ??= startScript()
    const answer = await script([url, token, org ?? null], operation, args)
    if ('done' in answer) return answer.done as T
    throw Object.assign(new Error(String(answer.refused)), { status: answer.status })
  }

  return {
    login: () => call('login'),
    userRepositories: (asked) => call('user_repositories', asked),
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

/** PyGithub turns pages by itself and shows none of them. */
function* pagesOf<T>(items: T[], perPage: number): Iterable<T[]> {
  for (let at = 0; at < items.length; at += perPage) yield items.slice(at, at + perPage)
}
