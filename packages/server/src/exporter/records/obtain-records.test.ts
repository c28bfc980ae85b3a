import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { damageBlob, flipBit } from '../../../../../test/support/damage-blob.ts'
import { type Engine, onEachEngine } from '../../../../../test/support/databases.ts'
import {
  assertExported,
  endOf,
  exportScene,
  outcomesByName,
  SEGMENT_CHECK_AGE_MS,
} from '../../../../../test/support/export-scene.ts'
import { type Fault, startForge } from '../../../../../test/support/forge/fake-forge.ts'
import { BINARY, fillForge, PICTURE } from '../../../../../test/support/forge/filled-forge.ts'
import { until } from '../../../../../test/support/wait-until.ts'
import { forgeDiscussions } from '../../../../hosts/src/forge/discussions/forge-discussions.ts'
import { FileTooLarge } from '../../../../hosts/src/host-errors.ts'
import { describeLosses } from '../../../../lib/src/findings.ts'
import { cancelMigration } from '../../migrations/end-migration.ts'
import { migrationById, repositoryToExport } from '../../migrations/export-store.ts'
import { recordsOf as recordsAt } from '../../migrations/outcomes.ts'
import { progressOf } from '../../migrations/progress.ts'
import { embeddedQueue } from '../../queue/embedded.ts'
import { RetryLater } from '../../queue/queue.ts'
import { exportHandlers } from '../export-migration.ts'
import { recordsForTask } from './obtain-records.ts'

const NAMES = ['ann/site', 'octo/tools', 'tern/data']

async function forgeScene(t: TestContext, engine: Engine = 'sqlite') {
  const forge = await startForge()
  t.after(() => forge.stop())
  const world = fillForge(forge)
  const contents = Object.fromEntries(NAMES.map((name) => [name, 'git']))
  const people = { collaborators: ['ann', 'cid'], organizations: ['octo', 'tern'] }
  const scene = await exportScene(t, contents, engine, people)
  const discussions = forgeDiscussions({ url: forge.url, token: 'admin-token', pauseMs: 1 })
  const change = { forge: { url: forge.url, discussions } }
  const recordsOf = async (id: number) => {
    const { files, manifest } = await scene.archive(id)
    const of = (kind: string): Record<string, unknown>[] =>
      [...files].flatMap(([path, text]) =>
        new RegExp(`^${kind}_\\d+\\.json$`).test(path) ? JSON.parse(text) : [],
      )
    return { files, manifest, of }
  }
  return {
    ...{ ...scene, forge, world, change, recordsOf },
    start: (names = NAMES, options = {}, login = 'ann') => scene.start(names, options, login),
    work: () => scene.work(change),
  }
}

onEachEngine('records of a forge', (engine, testOnSqlite) => {
  testOnSqlite('are exported, and reused while nothing changes', async (t) => {
    const { db, start, work, recordsOf, keysInStore, forge } = await forgeScene(t, engine)
    const id = await start()
    await work()
    await assertExported(db, id)
    const { of, files, manifest } = await recordsOf(id)
    assert.equal(of('issues').length, 40)
    assert.equal(of('pull_requests').length, 12)
    assert.equal(of('releases').length, 3)
    assert.deepEqual(
      of('users').map(({ login }) => login),
      ['ann', 'bob', 'cid', 'ghost'],
    )
    assert.deepEqual(
      of('organizations').map(({ login, name }) => [login, name]),
      [
        ['octo', 'Octo Works'],
        ['tern', null],
      ],
    )
    assert.equal(of('teams').length, 3)
    assert.equal(manifest.stored_files.length, 3)
    assert.deepEqual(
      [...files].flatMap(([path, text]) => (path.endsWith('/SUMS') ? [text] : [])).sort(),
      ['v1.0 sums\n', 'v1.1 sums\n', 'v2.0 sums\n'],
    )

    const [before, requests] = [await keysInStore(), forge.requests.length]
    const again = await start()
    await work()
    const archived = await recordsOf(again)
    for (const [path, text] of files)
      if (path !== 'godwit-manifest.json') assert.equal(archived.files.get(path), text, path)
    const timesOf = async (of: number) =>
      (await progressOf(db, { id: of })).repositories.map(({ records }) => records?.asOf)
    assert.deepEqual(await timesOf(again), await timesOf(id), 'a reused record has another time')
    // Only the segments of metadata and manifest are new.
    assert.equal((await keysInStore()).length, before.length + 2)
    assert.deepEqual(
      await outcomesByName(db, again),
      Object.fromEntries(NAMES.map((n) => [n, 'reused'])),
    )
    assert.equal(
      forge.requests.slice(requests).filter(({ path }) => /attachments/.test(path)).length,
      0,
    )
  })

  test('are made again if their stored data is damaged', async (t) => {
    const { db, blobs, clock, start, work, recordsOf } = await forgeScene(t, engine)
    const first = await start(['octo/tools'])
    await work()
    const { files } = await recordsOf(first)
    const keys = (await recordsAt(db, { migrationId: first, position: 0 }))!
    const damage = async (key: string | null) => damageBlob(blobs, key!, flipBit)
    for (const key of [keys.rowsKey, keys.assetsKey]) await damage(key)
    clock.now += SEGMENT_CHECK_AGE_MS
    const second = await start(['octo/tools'])
    await work()
    await assertExported(db, second)
    const again = await recordsOf(second)
    for (const [path, text] of files)
      if (path !== 'godwit-manifest.json') assert.equal(again.files.get(path), text, path)
    const fresh = (await recordsAt(db, { migrationId: second, position: 0 }))!
    assert.notEqual(fresh.rowsKey, keys.rowsKey)
    assert.notEqual(fresh.assetsKey, keys.assetsKey)

    // Stored rows are verified at every use, however recently they were checked.
    await damage(fresh.rowsKey)
    const third = await start(['octo/tools'])
    await work()
    assert.match((await endOf(db, third)).reason ?? '', /^octo\/tools: its exported data was lost/)
    const fourth = await start(['octo/tools'])
    await work()
    await assertExported(db, fourth)
  })

  test('are read once for two migrations at the same time', async (t) => {
    const { db, start, dependencies, change, forge, recordsOf } = await forgeScene(t, engine)
    // The migration that waits polls rarely, so that it does not slow down the one that reads.
    const queue = embeddedQueue({ db, retryLaterPauseMs: 200, pollIntervalMs: 20 })
    const ids = [await start(['octo/tools']), await start(['octo/tools'])]
    const errors: string[] = []
    const onError = (error: unknown) => void errors.push(String(error))
    const working = queue.work(exportHandlers({ ...dependencies, ...change, queue }), {
      concurrency: 4,
      onError,
    })
    await until(
      () => `both are done; ${errors.join('; ')}`,
      async () => (await queue.backlog()).length === 0 && queue.running() === 0,
    )
    await working.stop()
    for (const id of ids) await assertExported(db, id)
    const [first, second] = [await recordsOf(ids[0]!), await recordsOf(ids[1]!)]
    assert.equal(first.of('issues').length, 20)
    for (const kind of ['issues', 'issue_comments', 'pull_requests', 'releases', 'users'])
      assert.deepEqual(first.of(kind), second.of(kind))
    // The second migration may have waited for the first, and then had nothing to read.
    for (const each of errors) assert.match(each, /RetryLater/)
    const details = forge.requests.filter(({ path }) => /issues\/4\/comments$/.test(path))
    const files = forge.requests.filter(({ path }) => path.startsWith('/attachments/'))
    assert.equal(details.length, 1)
    assert.equal(files.length, new Set(files.map(({ path }) => path)).size)
  })

  test('wait for the Retry-After of the forge, show the time, and can be cancelled', async (t) => {
    const { db, dependencies, queue, start, forge, change } = await forgeScene(t, engine)
    forge.faultFor = () => ({
      response: { status: 429, headers: { 'retry-after': '300' }, body: {} },
    })
    const id = await start(['ann/site'])
    const working = queue.work(exportHandlers({ ...dependencies, ...change }), {
      concurrency: 1,
      onError: () => {},
    })
    const waiting = async () =>
      (await progressOf(db, { id })).repositories[0]?.records?.waitingUntil
    await until('the records wait for the forge', async () => (await waiting()) != null)
    const waitMs = (await waiting())! - Date.now()
    assert.ok(waitMs > 200_000 && waitMs < 301_000, String(waitMs))
    const requestsBefore = forge.requests.length
    await cancelMigration({ ...dependencies, now: Date.now }, await migrationById(db, id))
    await until('nothing is left', async () => (await queue.backlog()).length === 0)
    await working.stop()
    assert.equal(forge.requests.length, requestsBefore)
    assert.equal((await endOf(db, id)).state, 'failed')
  })

  testOnSqlite('a retried task reuses its attachments', async (t) => {
    const { db, dependencies, start, forge, world, change, keysInStore } = await forgeScene(
      t,
      engine,
    )
    const uuid = world.tools.issues.get(1)!.assets[0]!.uuid
    const assets = new Set(world.tools.releases.flatMap((each) => each.assets.map((a) => a.uuid)))
    forge.faultFor = ({ path }) => {
      if (path === `/attachments/${uuid}`) return { response: { status: 404, body: {} } }
      return assets.has(path.split('/').at(-1)!)
        ? { response: { status: 502, body: {} } }
        : undefined
    }
    const task = { migrationId: await start(['octo/tools']), position: 0 }
    const { metadata, options, since } = await repositoryToExport(db, task)
    const read = () =>
      recordsForTask(
        { ...dependencies, ...change },
        task,
        { metadata, options, since, startedAt: 0 },
        t.signal,
      )
    for (let tries = 1; tries <= 3; tries++) {
      await assert.rejects(read(), RetryLater)
      // The rows, and the attachments without the missing one.
      assert.equal((await keysInStore()).length, 2)
    }
    forge.faultFor = () => undefined
    const { losses, reused } = await read()
    const notes = describeLosses(losses)
    assert.equal(notes.filter((note) => note.includes(uuid)).length, 1, notes.join('; '))
    assert.equal(reused, false)
    // Another migration requests the missing file again.
    const other = { ...task, migrationId: await start(['octo/tools']) }
    const repeated = await recordsForTask(
      { ...dependencies, ...change },
      other,
      { metadata, options, since, startedAt: 0 },
      t.signal,
    )
    assert.deepEqual(
      describeLosses(repeated.losses).filter((note) => note.includes(uuid)),
      [],
    )
  })
})

describe('records of a forge', () => {
  test('attachments are exported, and texts link to them', async (t) => {
    const { start, work, recordsOf, world, forge } = await forgeScene(t)
    const id = await start(['ann/site'])
    await work()
    const { of, files } = await recordsOf(id)
    const [picture, notes] = of('attachments')
    // The pages of this archive are Godwit's own, so the address is that of the forge.
    for (const { old_url, url } of [picture!, notes!])
      assert.equal(old_url, `${forge.url}/attachments/${String(url).split('/').at(-1)}`)
    const path = String(picture?.asset_url).replace('tarball://root/', '')
    assert.equal(files.get(path), String(PICTURE))
    const issue = of('issues').find(({ url }) => String(url).endsWith('/issues/1'))
    const uuid = world.site.issues.get(1)!.assets[0]!.uuid
    assert.equal(
      issue?.body,
      `see ![a picture](${picture?.url}) and https://elsewhere.example/attachments/${uuid}`,
    )
    const comments = of('issue_comments').map(({ body }) => body)
    assert.ok(comments.includes(`[notes](${notes?.url})`), String(comments))
  })

  test('options exclude records', async (t) => {
    const { db, start, work, recordsOf, forge } = await forgeScene(t)
    const flags = {
      excludeAttachments: true,
      excludeReleases: true,
      excludeGitData: true,
      excludeOwnerProjects: true,
    }
    const id = await start(['octo/tools', 'ann/site'], flags)
    await work()
    await assertExported(db, id)
    const { of, files, manifest } = await recordsOf(id)
    assert.equal(of('issues').length, 40)
    assert.deepEqual([of('releases'), of('attachments')], [[], []])
    assert.deepEqual(
      [...files.keys()].filter((path) => path.includes('/')),
      [],
    )
    assert.deepEqual(manifest.stored_files, [])
    assert.equal(forge.requests.filter(({ path }) => path.startsWith('/attachments/')).length, 0)

    forge.requests.length = 0
    const withoutMetadata = await start(['octo/tools'], { excludeMetadata: true })
    await work()
    const { files: kept } = await recordsOf(withoutMetadata)
    assert.deepEqual([...kept.keys()].filter((path) => path.endsWith('.json')).sort(), [
      'godwit-manifest.json',
      'organizations_000001.json',
      'repositories_000001.json',
      'schema.json',
    ])
    assert.equal(forge.requests.length, 0)
  })

  test('a repository that the forge refuses is skipped or failed with the reason', async (t) => {
    const { db, start, work, forge } = await forgeScene(t)
    forge.world.repositories.delete('tern/data')
    const failed = await start()
    await work()
    assert.match((await endOf(db, failed)).reason ?? '', /^tern\/data: .* was not found$/)
    const partial = await start(NAMES, { allowPartial: true })
    await work()
    await assertExported(db, partial)
    assert.match(
      (await outcomesByName(db, partial))['tern/data'] ?? '',
      /^skipped: .* was not found$/,
    )
  })

  test('a file that is missing on the forge is reported and has no record', async (t) => {
    const { db, start, work, recordsOf, forge, world } = await forgeScene(t)
    const { uuid } = world.tools.releases[1]!.assets[0]!
    forge.faultFor = ({ path }) =>
      path === `/attachments/${uuid}` ? { response: { status: 404, body: {} } } : undefined
    const id = await start(['octo/tools'])
    await work()
    await assertExported(db, id)
    const { of, files, manifest } = await recordsOf(id)
    const assets = of('releases').map(({ release_assets }) => (release_assets as unknown[]).length)
    assert.deepEqual(assets, [2, 1, 2])
    const bins = [...files].filter(([path]) => path.endsWith('.bin'))
    assert.deepEqual(
      bins.map(([, text]) => text === String(BINARY)),
      [true, true],
    )
    const notes = describeLosses((await progressOf(db, { id })).repositories[0]!.records!.losses)
    assert.ok(
      notes.some((note) => note.includes(uuid)),
      notes.join('; '),
    )
    // The archive itself says so too.
    const [missing] = manifest.losses!.filter(({ kind }) => kind === 'release_assets')
    assert.deepEqual([missing?.full_name, missing?.count], ['octo/tools', 1])
    assert.match(
      String(missing?.examples),
      new RegExp(`^release_assets/${uuid}/.+: missing on the forge$`),
    )
    // The next migration requests it again.
    forge.faultFor = () => undefined
    const again = await start(['octo/tools'])
    await work()
    const found = (await recordsOf(again)).of('releases')
    assert.deepEqual(
      found.map(({ release_assets }) => (release_assets as unknown[]).length),
      [2, 2, 2],
    )
  })

  const faults = {
    'a failure of the server': { response: { status: 500, body: {} } },
    'fewer bytes than listed': { response: { bytes: BINARY.subarray(1) } },
    'more bytes than listed': { response: { bytes: Buffer.concat([BINARY, PICTURE]) } },
    'a body that is truncated every time': { cut: true },
    'fewer bytes than listed, of no stated length': {
      response: { bytes: BINARY.subarray(1) },
      without: ['content-length'],
    },
  } satisfies Record<string, Fault>
  test('a release asset that the forge does not send completely is reported as missing', async (t) => {
    const { db, start, work, recordsOf, forge, world } = await forgeScene(t)
    const [, damaged] = world.tools.releases.map(({ assets }) => assets[0]!)
    const ofDamaged = () => forge.requests.filter(({ path }) => path.endsWith(damaged!.uuid)).length
    for (const [name, fault] of Object.entries(faults)) {
      forge.faultFor = ({ path }) => (path === `/attachments/${damaged!.uuid}` ? fault : undefined)
      const before = ofDamaged()
      // Every migration requests the missing file again.
      const id = await start(['octo/tools'])
      await work()
      await assertExported(db, id)
      assert.ok(ofDamaged() > before, name)
      const { of, files, manifest } = await recordsOf(id)
      assert.deepEqual(
        of('releases').map(({ release_assets }) => (release_assets as unknown[]).length),
        [2, 1, 2],
        name,
      )
      const bins = [...files].filter(([path]) => path.endsWith('.bin'))
      assert.deepEqual(
        bins.map(([, text]) => text === String(BINARY)),
        [true, true],
        name,
      )
      const notes = describeLosses((await progressOf(db, { id })).repositories[0]!.records!.losses)
      const missing = notes.filter((note) => note.includes(damaged!.uuid))
      assert.equal(missing.length, 1, `${name}: ${notes.join('; ')}`)
      assert.ok(!JSON.stringify(manifest.stored_files).includes(damaged!.uuid), name)
    }
  })

  test('a file that is too large is reported and has no record', async (t) => {
    const { db, start, change, work, recordsOf } = await forgeScene(t)
    const reason = 'it is larger than the limit'
    const { discussions } = change.forge
    discussions.sharing = () => discussions
    discussions.open = async function* ({ file }) {
      if (file.endsWith('/notes.txt')) throw new FileTooLarge(200, reason)
      yield PICTURE
    }
    const id = await start(['ann/site'])
    await work()
    await assertExported(db, id)
    const { of } = await recordsOf(id)
    assert.deepEqual(
      of('attachments').map(({ asset_name }) => asset_name),
      ['a picture.png'],
    )
    const notes = describeLosses((await progressOf(db, { id })).repositories[0]!.records!.losses)
    assert.match(notes.join(), new RegExp(`attachments/[^,]+/notes\\.txt: ${reason}`))
  })

  test('an account that is not a member does not see the members of an organization', async (t) => {
    const scene = await forgeScene(t)
    const id = await scene.start(['octo/tools'], {}, 'cid')
    await scene.work()
    await assertExported(scene.db, id)
    const { of } = await scene.recordsOf(id)
    assert.deepEqual(of('organizations')[0]?.members, [])
    assert.deepEqual(
      of('teams').map(({ members }) => members),
      [[], []],
    )
  })
})
