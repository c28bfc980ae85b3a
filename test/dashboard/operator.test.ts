import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needsChromium, visit } from '../support/browser.ts'
import { arrived, part } from '../support/dashboard.ts'
import { DAMAGED_REPOSITORIES } from '../support/export-damage.ts'
import { exportStory } from '../support/export-story.ts'

test('an operator sees the whole service, and nobody else does', needsChromium, async (t) => {
  const story = await exportStory(t, {
    async repositories(host) {
      await host.repository('alice/atlas', { files: { a: '1' } })
      await host.repository('alice/birds', { files: { a: '2' } })
      DAMAGED_REPOSITORIES.grafted!.make(host.path('alice/grafted'))
    },
  })
  await story.migrate(['alice/atlas', 'alice/birds'], { lock_repositories: true })
  await story.migrate(['alice/atlas', 'alice/birds'])
  await story.migrate(['alice/grafted'], {}, 'failed')
  await story.service.godwit('account', 'set', 'olga', '--site-admin')
  const [olga, alice] = [await story.service.token('olga'), await story.service.token('alice')]

  const page = await visit(t, story.service.url, { token: olga })
  await page.getByRole('link', { name: 'Service' }).click()
  await arrived(page, 'Service')
  const figure = (name: string) => page.locator('dl > div').filter({ hasText: name })
  await figure('Exported so far').getByText('2', { exact: true }).waitFor()
  await figure('Workers').getByText('1', { exact: true }).waitFor()
  await figure('Locks').getByText('2', { exact: true }).waitFor()
  await part(page, 'Locks').getByRole('cell', { name: 'alice/atlas' }).waitFor()
  await part(page, 'Recent failures')
    .getByText(/has grafts/)
    .waitFor()

  // Half of what was exported had been exported before: as a picture with a name, and as a table.
  await page.getByRole('img', { name: /2 of 4 repositories were reused/ }).waitFor()
  const reuse = part(page, 'Reuse')
  await reuse.getByText('Show as table').click()
  assert.ok((await reuse.getByRole('row').count()) >= 2)
  await page.getByRole('button', { name: 'Week' }).click()
  await page.getByRole('img', { name: /^Throughput in the last week: \d/ }).waitFor()

  const other = await visit(t, `${story.service.url}/#/service`, { token: alice, expected: /404/ })
  await arrived(other, 'Not found')
  assert.equal(await other.getByRole('link', { name: 'Service' }).count(), 0)
})
