import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type GitHost, gitHost } from './git-host.ts'
import type { SharedService } from './service.ts'

export interface Run {
  id: number
  due_at: string | null
  migration_id: number | null
  state: string
  reason: string | null
  skipped_repositories: { full_name: string; reason: string }[]
  has_archive: boolean
}

export interface Schedule {
  id: number
  url: string
  created_by: string
  all: boolean
  name: string | null
  repositories: string[]
  next_run_at: string | null
  paused: boolean
  paused_reason: string | null
  last_run: Run | null
}

export const WEEKLY = {
  repositories: ['atlas', 'bob/notes'],
  every: 'week',
  weekday: 'sunday',
  at: '03:30',
  time_zone: 'Europe/Zurich',
}
export const OWN = '/user/migrations/schedules'

/** Makes repositories of three owners, one of them an organization. */
export async function makeHost(t: TestContext): Promise<GitHost> {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/atlas', { files: { a: '1' } })
  await host.repository('octo/kit', { files: { a: '1' } })
  await host.repository('bob/notes', {
    files: { a: '1' },
    config: { 'godwit.collaborator': 'alice:admin' },
  })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob member\n')
  return host
}

/** Returns a function that sends a request, asserts the status and returns the body. */
export function jsonClient(service: SharedService, token: string) {
  return async <T>(status: number, method: string, path: string, body?: unknown): Promise<T> => {
    const response = await service.call(token, path, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.equal(response.status, status, `${method} ${path}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
}
