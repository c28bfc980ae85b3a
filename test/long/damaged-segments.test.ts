import assert from 'node:assert/strict'
import { open, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, test } from 'node:test'
import { type ClientCommandLine, clientCommandLine } from '../support/client-command-line.ts'
import { assertFinding } from '../support/doctor-scene.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { incompressible } from '../support/sample-repositories.ts'
import { until } from '../support/wait-until.ts'

const fileCleanup = cleanupAfterFile()
let story: SharedStory
let client: ClientCommandLine
let database: DatabaseSync

before(async () => {
  story = await sharedExportStory(fileCleanup, {
    async repositories(host) {
      // Larger than what a server sends before it has read the damaged bytes.
      const large = { b: incompressible(3_000_000) }
      for (const name of ['one', 'two'])
        await host.repository(`alice/${name}`, { files: { a: name, ...large } })
      for (const name of ['three', 'four', 'five'])
        await host.repository(`alice/${name}`, { files: { a: name } })
    },
  })
  const { service } = story
  client = await clientCommandLine(fileCleanup, {
    url: service.url,
    token: await service.token('alice'),
  })
  database = new DatabaseSync(join(service.data, 'godwit.sqlite'), { timeout: 10_000 })
  fileCleanup.after(() => database.close())
})

/** Flips one bit in the middle of the stored segment of the only repository of a migration. */
async function damageSegment(id: number): Promise<void> {
  const { segment_key: key } = database
    .prepare('select segment_key from repository_exports where migration_id = ?')
    .get(id) as { segment_key: string }
  const file = await open(join(story.service.data, 'blobs', key.slice(0, 2), key), 'r+')
  try {
    const at = (await file.stat()).size >> 1
    const byte = Buffer.alloc(1)
    await file.read(byte, 0, 1, at)
    byte[0]! ^= 1
    await file.write(byte, 0, 1, at)
  } finally {
    await file.close()
  }
}

const json = async (path: string): Promise<Record<string, unknown>> =>
  (await (await story.call(path)).json()) as Record<string, unknown>

test('a download of a damaged segment breaks off, and the archive is refused afterwards', async () => {
  const { id } = await story.migrate(['one'])
  const link = await story.link(id)
  await damageSegment(id)
  const response = await fetch(link)
  assert.equal(response.status, 200)
  await assert.rejects(response.arrayBuffer(), 'the download looks complete')

  const refused = {
    message:
      'The archive cannot be downloaded: the stored data of alice/one is damaged. Start a new migration to export it again.',
    status: '410',
  }
  const path = `/user/migrations/${id}`
  for (const again of [
    await fetch(link, { headers: { range: 'bytes=2000000-' } }),
    await story.call(`${path}/archive`),
    await story.call(`${path}/archive/link`),
  ]) {
    assert.equal(again.status, 410)
    const { documentation_url: _, ...body } = (await again.json()) as Record<string, string>
    assert.deepEqual(body, refused)
  }
  const warning =
    'the stored data of alice/one is damaged: start a new migration to export it again'
  assert.deepEqual((await json(`${path}/report`)).warnings, [warning])
  const { archive } = await json(`${path}/summary`)
  assert.equal((archive as { damaged: boolean }).damaged, true)
  const metrics = await (await fetch(`${story.service.url}/metrics`)).text()
  assert.match(metrics, /^godwit_segments{state="damaged"} 1$/m)
  assert.match(metrics, /^godwit_store_checks_total{result="damaged"} 1$/m)

  const next = await story.migrate(['one'])
  assert.deepEqual((await json(`/user/migrations/${next.id}/report`)).warnings, [])
  const { totals } = (await json(`/user/migrations/${next.id}/progress`)) as {
    totals: { reused: number }
  }
  assert.equal(totals.reused, 0)
  const verified = await client.godwit(['verify', await story.download(next.id)])
  assert.equal(verified.code, 0, verified.output)
})

test('the client names the damage and keeps nothing', async () => {
  const { id } = await story.migrate(['two'])
  await damageSegment(id)
  const { err } = await client.migration(3, 'download', String(id))
  assert.match(
    err,
    /rejected the request \(410\): .* the stored data of alice\/two is damaged\. Start a new/,
  )
  assert.deepEqual(await readdir(client.folder), [])
  const shown = await client.migration(0, 'show', String(id))
  assert.match(shown.out, /^archive +damaged: start a new migration/m)
  const listed = await client.migration(0, 'list')
  assert.match(listed.out, new RegExp(`^${id} +exported .* damaged$`, 'm'))
})

test('a segment that was not read for long is verified before it is reused', async () => {
  const { id } = await story.migrate(['three'])
  await damageSegment(id)
  database.exec('update segments set checked_at = 0 where damaged_at is null')
  const again = await story.migrate(['three'])
  const verified = await client.godwit(['verify', await story.download(again.id)])
  assert.equal(verified.code, 0, verified.output)
  assert.equal((await story.call(`/user/migrations/${id}/archive`)).status, 410)
})

test('segments that were not read for long are verified in the background', async () => {
  const { service } = story
  const { id } = await story.migrate(['five'])
  await damageSegment(id)
  await service.stop()
  database.exec('update segments set checked_at = 0')
  await service.restart()
  const summary = async () =>
    (await json(`/user/migrations/${id}/summary`)) as { archive: { damaged: boolean } }
  await until('the damage is found', async () => (await summary()).archive.damaged)
  assert.match(service.log(), /stored data is damaged; the next migration exports it again/)
})

test('check --store reads all blobs and names the damaged archives', async () => {
  const { id } = await story.migrate(['one', 'two', 'three'])
  const settings = ['--data', story.service.data]
  const usageError = await client.godwit(['check', 'alice', '--store', ...settings])
  assert.equal(usageError.code, 2, usageError.output)
  const fresh = await story.migrate(['four'])
  await damageSegment(fresh.id)

  const ended = await client.godwit(['check', '--store', ...settings])
  assert.equal(ended.code, 1, ended.output)
  const line = `damaged: the archive of migration ${fresh.id} of alice: alice/four`
  assert.match(ended.stdout.toString(), new RegExp(`^${line}$`, 'm'))
  assert.ok(!ended.stdout.includes(`migration ${id} of`), ended.output)
  assert.match(ended.stdout.toString(), /^\d+ intact, \d+ damaged; .* read$/m)
  assert.match(ended.stderr, /stored segments and archives (is|are) damaged; the next migration/)

  const checked = await client.godwit(['check', '--store', '--json', ...settings])
  const { archives, intact, damaged } = JSON.parse(checked.stdout.toString())
  assert.ok(intact > 0 && damaged > 0 && checked.code === 1)
  assert.ok(
    archives.some(
      (each: { migration_id: number; login: string; damaged: string[] }) =>
        each.migration_id === fresh.id &&
        each.login === 'alice' &&
        each.damaged[0] === 'alice/four',
    ),
    checked.output,
  )
  const doctor = await client.godwit(['doctor', '--json', ...settings])
  const { checks } = JSON.parse(doctor.stdout.toString()) as {
    checks: { check: string; state: string; found: string }[]
  }
  const { state, found } = checks.find(({ check }) => check === 'stored data')!
  assert.equal(state, 'warning')
  assert.match(found, /^\d+ of \d+ stored segments are damaged; the oldest check is .* old$/)
})

test('a lost store is reported, and replaced only on request', async () => {
  const { service } = story
  const { id } = await story.migrate(['one'])
  await service.stop()
  const blobs = join(service.data, 'blobs')
  await rename(blobs, `${blobs}-lost`)
  const settings = ['--data', service.data]
  const doctor = await client.godwit(['doctor', '--json', ...settings])
  const { checks } = JSON.parse(doctor.stdout.toString())
  assertFinding(
    checks,
    'stored data',
    'error',
    /^\d+ stored segments should be in .*\/blobs, but it/,
  )
  await assert.rejects(service.restart(), /the store of archives is empty or another one: check/)

  const check = await client.godwit(['check', '--store', ...settings])
  assert.equal(check.code, 1, check.output)
  assert.match(check.stderr, /^godwit: the store of archives is empty or another one: check .*\n$/)
  const lost = await client.godwit(['check', '--store', '--lost', ...settings])
  assert.equal(lost.code, 1, lost.output)
  const line = `damaged: the archive of migration ${id} of alice: alice/one, `
  assert.ok(lost.stdout.toString().includes(line), lost.output)
  const audit = await client.godwit(['audit', '--action', 'store.accept_loss', ...settings])
  assert.match(audit.stdout.toString(), / command line +store\.accept_loss /)
  await service.restart()
  const again = await story.migrate(['one'])
  const verified = await client.godwit(['verify', await story.download(again.id)])
  assert.equal(verified.code, 0, verified.output)
})
