import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { needsChromium, visit } from '../support/browser.ts'
import { arrived, part } from '../support/dashboard.ts'
import { untilEnded } from '../support/ended-migration.ts'
import { BINARY, makeBusy, tokenOf } from '../support/forge/busy-world.ts'
import { checkRecords } from '../support/forge/check-records.ts'
import { type StandInForge, startForge } from '../support/forge/stand-in-forge.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/odd-repositories.ts'
import type { SharedService } from '../support/service.ts'
import { startInRow } from '../support/service-row.ts'
import { forTheWholeFile } from '../support/whole-file-cleanup.ts'
import { type Desk, desk, entriesIn, packed } from '../support/without-server.ts'

const REPOSITORIES = ['ann/site', 'octo/tools', 'tern/data']

let forge: StandInForge
let host: GitHost
let service: SharedService
let table: Desk
let flags: string[]

const wholeFile = forTheWholeFile()

before(async () => {
  forge = await startForge()
  wholeFile.after(() => forge.stop())
  makeBusy(forge)
  host = await gitHost()
  wholeFile.after(host.remove)
  for (const name of REPOSITORIES) await host.repository(name, { files: { 'README.md': name } })
  const tokenFile = join(temporaryDirectory(wholeFile), 'token')
  await writeFile(tokenFile, 'admin-token\n')
  await chmod(tokenFile, 0o600)
  flags = ['--forge', forge.url, '--forge-token-file', tokenFile]
  service = await startInRow(wholeFile, { repositories: host.root, flags })
  table = await desk(wholeFile)
})

async function migrate(repositories: readonly string[], more: object = {}) {
  const token = tokenOf('ann')
  const body = JSON.stringify({ repositories, ...more })
  const answer = await service.call(token, '/user/migrations', { method: 'POST', body })
  assert.equal(answer.status, 201, service.log())
  const { id } = (await answer.json()) as { id: number }
  await untilEnded(service, token, id, 'exported')
  const archive = await service.call(token, `/user/migrations/${id}/archive`, {
    redirect: 'follow',
  })
  const file = join(table.folder, `${id}.tar.gz`)
  await writeFile(file, Buffer.from(await archive.arrayBuffer()))
  return { id, token, file }
}

test('a forge becomes an archive that every check accepts', async () => {
  const { id, token, file } = await migrate(REPOSITORIES)
  const entries = await entriesIn(file)
  const { of } = checkRecords(entries)
  assert.deepEqual(
    ['issues', 'pull_requests', 'releases', 'organizations'].map((kind) => of(kind).length),
    [40, 12, 3, 2],
  )
  const states = new Set(of('pull_request_reviews').map(({ state }) => state))
  assert.deepEqual([...states].sort(), [1, 30, 40, 50])
  assert.equal(of('pull_requests').filter(({ merged_at }) => merged_at !== null).length, 4)
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  const binaries = entries.filter(({ path }) => path.endsWith('.bin'))
  assert.deepEqual(
    binaries.map(({ content }) => digest(content)),
    Array.from({ length: 3 }, () => digest(BINARY)),
  )
  const everything = entries.map(({ content }) => String(content)).join('\n')
  assert.ok(!everything.includes('admin-token') && !service.log().includes('admin-token'))

  const verified = await table.godwit(['verify', file])
  assert.equal(verified.code, 0, verified.said)
  const shown = await table.godwit(['show', file])
  assert.match(shown.said, /^issues +40$/m)
  const report = await (
    await service.call(token, `/user/migrations/${id}/report`, {
      headers: { accept: 'text/plain' },
    })
  ).text()
  assert.match(report, /20 issues and pull requests as of 20\d\d-/)
})

test(
  'the page of a migration tells how many issues and pull requests it holds',
  needsChromium,
  async (t) => {
    const { id } = await migrate(REPOSITORIES)
    const page = await visit(t, `${service.url}/#/migrations/${id}`, { token: tokenOf('ann') })
    await arrived(page, `Migration ${id}`)
    const figures = part(page, 'Progress')
    await figures.getByText('Issues and pull requests').waitFor()
    assert.match(await figures.innerText(), /Issues and pull requests\s+52\b/)
  },
)

test('`export` without a service tells the same', async () => {
  const { file } = await migrate(REPOSITORIES)
  const args = ['export', ...REPOSITORIES, '--repositories', host.root, ...flags]
  const made = await table.godwit([...args, '--base-url', service.url, '--output', 'own.tar.gz'])
  assert.equal(made.code, 0, made.said)
  const recordsIn = async (archive: string) =>
    new Map(
      (await entriesIn(archive)).flatMap(({ path, content }) =>
        /^(issues|pull|releases|milestones|attachments)/.test(path)
          ? [[path, String(content)]]
          : [],
      ),
    )
  const ours = await recordsIn(join(table.folder, 'own.tar.gz'))
  assert.ok(ours.size >= 8)
  assert.deepEqual(ours, await recordsIn(file))
})

test('a directory that the forge does not know is exported to nobody, and named', async (t) => {
  await host.repository('ann/stray', { files: { a: 'a' } })
  t.after(() => rm(host.path('ann/stray'), { recursive: true }))
  const reason = 'the forge does not know this repository'
  const settings = ['--repositories', host.root, ...flags]
  const made = await table.godwit(['export', 'ann/stray', ...settings, '--output', 'stray.tar.gz'])
  assert.deepEqual([made.code, made.said.trim()], [1, `godwit: ann/stray: ${reason}`])
  const synced = await table.godwit(['sync', '--data', join(table.folder, 'data'), ...settings])
  assert.match(synced.said, new RegExp(`^skipped: ann/stray\\.git: ${reason}$`, 'm'))
  const away = ['--repositories', host.root, '--forge', 'http://127.0.0.1:1', ...flags.slice(2)]
  const waited = await table.godwit(['export', 'ann/site', ...away, '--output', 'away.tar.gz'])
  assert.match(waited.said.trim(), /^godwit: nothing answers at [^\n]*$/)
})

test('a damaged attachment is noticed, by its digest', async () => {
  const { file } = await migrate(['ann/site'])
  const entries = await entriesIn(file)
  const damaged = entries.map((each) =>
    each.path.endsWith('notes.txt') ? { ...each, content: Buffer.from('other notes\n') } : each,
  )
  await writeFile(join(table.folder, 'damaged.tar.gz'), packed(damaged))
  const verified = await table.godwit(['verify', 'damaged.tar.gz'])
  assert.notEqual(verified.code, 0)
  assert.match(verified.said, /notes\.txt: is not the file that was exported/)
})
