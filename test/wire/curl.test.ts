import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { curl, curlClient, needsCurl } from './curl-client.ts'
import { exportMigration } from './export-migration.ts'
import { runLifecycle } from './migration-lifecycle.ts'
import { needsOrganization, organizationUnderTest, serverUnderTest } from './server-under-test.ts'

describe('curl', needsCurl(), () => {
  test('runs a migration from start to deletion', async (t) => {
    const server = await serverUnderTest()
    await runLifecycle(t, server, curlClient(server))
  })

  test(
    'runs a migration of an organization, without the preview media type',
    needsOrganization,
    async (t) => {
      const server = await organizationUnderTest()
      await runLifecycle(t, server, curlClient(server))
    },
  )

  test('resumes an interrupted download', async (t) => {
    const server = await serverUnderTest()
    const { headers } = await server.request(
      'GET',
      `/user/migrations/${await exportMigration(server)}/archive`,
    )
    const dir = await mkdtemp(join(tmpdir(), 'godwit-wire-resume-'))
    t.after(() => rm(dir, { recursive: true, force: true }))
    const file = join(dir, 'archive.tar.gz')
    await curl('--output', file, headers.location!)
    const whole = await readFile(file)
    await truncate(file, Math.floor(whole.length / 2))
    await curl('--continue-at', '-', '--output', file, headers.location!)
    assert.ok(whole.equals(await readFile(file)))
  })
})
