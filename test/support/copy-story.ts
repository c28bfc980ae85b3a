import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { freePort } from './free-port.ts'
import { temporaryDirectory } from './sample-repositories.ts'
import { OWN, WEEKLY } from './schedule-story.ts'
import {
  type ServiceOptions,
  type SharedService,
  untilEnded,
  withoutCloneTokens,
} from './service.ts'
import { createCommandRunner } from './shared-commands.ts'
import { slowGit } from './slow-git.ts'
import { startSharedService } from './start-shared-service.ts'
import { until } from './wait-until.ts'
import { webhookReceiver } from './webhook-receiver.ts'
import { ALLOW_LOOPBACK, addWebhook, makeHost, post } from './webhook-story.ts'

/** Runs `godwit copy`, and returns its report. */
export async function copy(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await createCommandRunner({ env: { ...process.env, ...env } })([
    'copy',
    '--json',
    ...args,
  ])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as {
    tables: { table: string; rows: number }[]
    archives: { count: number; bytes: number; digest: string; damaged: string[] } | null
    unfinished_migrations: number
    source_moved: boolean
  }
}

export async function failToRun(pattern: RegExp, ...args: string[]): Promise<void> {
  const { code, stderr } = await createCommandRunner()(args)
  assert.notEqual(code, 0, `godwit ${args.join(' ')}`)
  assert.match(stderr, pattern)
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
}

/** Reads everything that alice can read: statuses with their ETags, lists, and the bytes of the archives. */
export async function answers(service: SharedService, token: string, archives: readonly number[]) {
  // Locks change the time of a repository.
  await service.godwit('sync')
  const paths = [
    ...['/user', '/user/migrations', OWN, `${OWN}/1`, '/user/hooks', '/user/hooks/1/deliveries'],
    ...['/user/repos', '/user/migration-summaries', '/orgs/octo/migrations'],
    ...archives.flatMap((id) => [
      `/user/migrations/${id}`,
      `/user/migrations/${id}/repositories`,
      `/user/migrations/${id}/report`,
    ]),
  ]
  const found: Record<string, unknown> = {}
  for (const path of paths) {
    const response = await service.call(token, path)
    const body = withoutCloneTokens(await response.text())
    found[path] = { status: response.status, etag: response.headers.get('etag'), body }
  }
  for (const id of archives) {
    const { headers } = await service.call(token, `/user/migrations/${id}/archive`)
    found[`archive ${id}`] = await digestAt(headers.get('location'))
  }
  return found
}

export async function digestAt(link: string | null): Promise<string> {
  const response = await fetch(link!)
  assert.equal(response.status, 200)
  return createHash('sha256')
    .update(await response.bytes())
    .digest('hex')
}

export async function migrate(
  service: SharedService,
  token: string,
  body: unknown,
): Promise<number> {
  const response = await service.call(token, '/user/migrations', post(body))
  assert.equal(response.status, 201)
  const { id } = (await response.json()) as { id: number }
  return id
}

/** Starts a service on SQLite with history: two migrations, one of them unfinished, a schedule, and a webhook with deliveries. */
export async function serviceWithHistory(t: TestContext) {
  const host = await makeHost(t)
  const git = await slowGit({ afterFirst: 2 })
  t.after(git.remove)
  const receiver = await webhookReceiver(t)
  const shared: ServiceOptions = {
    repositories: host.root,
    port: await freePort(),
    flags: [...ALLOW_LOOPBACK, '--git', git.program, '--downloads', 'proxy'],
  }
  const service = await startSharedService(t, { ...shared, data: temporaryDirectory(t) })
  const token = await service.token('alice')
  await addWebhook(service, token, receiver.url)
  assert.equal(
    (await service.call(token, OWN, post({ ...WEEKLY, repositories: ['atlas'] }))).status,
    201,
  )
  const id = await migrate(service, token, { repositories: ['atlas', 'birds'] })
  await untilEnded(service, token, id, 'exported')
  await until('the ping and the end are delivered', () => receiver.received.length === 2)
  const { headers } = await service.call(token, `/user/migrations/${id}/archive`)
  await host.commit(host.path('alice/birds'), { b: '2' })
  await service.godwit('sync')
  const unfinished = await migrate(service, token, {
    repositories: ['atlas', 'birds'],
    lock_repositories: true,
  })
  await git.untilSlow()
  return {
    host,
    git,
    receiver,
    shared,
    service,
    token,
    id,
    unfinished,
    link: headers.get('location')!,
  }
}
