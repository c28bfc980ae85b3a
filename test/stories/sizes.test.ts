import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Forecast, Progress, Summary } from '../../packages/contract/src/schemas/types.ts'
import { formatBytes } from '../../packages/lib/src/quantities.ts'
import { clientCommandLine } from '../support/client-command-line.ts'
import { sharedExportStory } from '../support/export-story.ts'
import { git } from '../support/sample-repositories.ts'

test('a repository has the same size everywhere', async (t) => {
  const names = ['alice/site', 'alice/tools']
  const story = await sharedExportStory(t, {
    async repositories(host) {
      await host.repository('alice/site', { files: { a: '1' }, wiki: { Home: 'Welcome' } })
      await host.repository('alice/tools', { files: { b: '2' } })
      // An archive has other bytes of loose objects.
      for (const name of ['alice/site', 'alice/site.wiki', 'alice/tools'])
        git(host.path(name), ['repack', '-adq'])
    },
  })
  const read = async <T>(path: string, init?: RequestInit) =>
    (await (await story.call(`/user/migrations${path}`, init)).json()) as T
  const body = JSON.stringify({ repositories: names })
  const forecast = await read<Forecast>('/preflight', { method: 'POST', body })
  const sizes = Object.fromEntries(
    forecast.repositories.map(({ full_name, bytes }) => [full_name, bytes]),
  )
  const total = sizes['alice/site']! + sizes['alice/tools']!
  // The repository index has it in KiB, rounded up.
  assert.ok(sizes['alice/tools']! > 0 && sizes['alice/tools']! < 2000, JSON.stringify(sizes))

  const { id } = await story.migrate(names)
  const progress = await read<Progress>(`/${id}/progress`)
  for (const { full_name, bytes_done, bytes_expected } of progress.repositories)
    assert.deepEqual([bytes_done, bytes_expected], [sizes[full_name], sizes[full_name]])
  assert.equal(progress.totals.bytes_done, total)
  assert.equal((await read<Summary>(`/${id}/summary`)).bytes_done, total)

  const token = await story.service.token('alice')
  const desk = await clientCommandLine(t, { url: story.service.url, token })
  const watched = (await desk.migration(0, 'watch', String(id))).err
  const report = (await desk.migration(0, 'report', String(id))).out
  const file = await story.download(id)
  const shown = (await desk.godwit(['show', file])).stdout.toString()
  assert.ok(report.includes(`${formatBytes(total)} of git and LFS data`), report)
  for (const [name, bytes] of Object.entries(sizes)) {
    const size = formatBytes(bytes)
    assert.match(watched, new RegExp(`^exported: ${name}, ${size}$`, 'm'))
    assert.match(report, new RegExp(`^exported ${name}, ${size}$`, 'm'))
    assert.match(shown, new RegExp(`^${name} +${size} `, 'm'))
  }
})
