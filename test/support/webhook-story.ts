import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type GitHost, gitHost } from './git-host.ts'
import type { SharedService } from './service.ts'

export async function makeHost(t: TestContext): Promise<GitHost> {
  const host = await gitHost()
  t.after(host.remove)
  for (const name of ['alice/atlas', 'alice/birds', 'bob/own', 'octo/kit'])
    await host.repository(name, { files: { a: '1' } })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob member\n')
  return host
}

export const ALLOW_LOOPBACK = ['--webhook-networks', '127.0.0.1']

export const post = (body: unknown) => ({ method: 'POST', body: JSON.stringify(body) })

export async function addWebhook(
  service: SharedService,
  token: string,
  url: string,
): Promise<void> {
  const { status } = await service.call(token, '/user/hooks', post({ config: { url } }))
  assert.equal(status, 201)
}

export const stateOf = async (
  service: SharedService,
  token: string,
  id: number,
): Promise<string> => {
  const response = await service.call(token, `/user/migrations/${id}?exclude=repositories`)
  return ((await response.json()) as { state: string }).state
}
