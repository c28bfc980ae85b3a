import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Schedule } from '../../src/wire/types.ts'
import { leave, needsChromium, visit } from '../support/browser.ts'
import { arrived, pagesPort, part } from '../support/dashboard.ts'
import { gitHost } from '../support/git-host.ts'
import { startInRow } from '../support/service-row.ts'
import { until } from '../support/wait-until.ts'

test('a schedule is made, run, paused, changed and deleted', needsChromium, async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  for (const name of ['alice/atlas', 'alice/birds', 'alice/coast', 'octo/kit'])
    await host.repository(name, { files: { a: '1' } })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\n')
  const service = await startInRow(t, { repositories: host.root, port: await pagesPort() })
  const token = await service.token('alice')
  const page = await visit(t, `${service.url}/`, { token, expected: /422/ })
  await page.getByRole('link', { name: 'Schedules' }).click()
  await arrived(page, 'Schedules')
  await page.getByRole('link', { name: 'Create a schedule' }).click()
  await arrived(page, 'New schedule')
  await page.getByRole('checkbox', { name: 'alice/atlas' }).check()
  await page.getByLabel('Repeats').selectOption('every Tuesday')
  await page.getByLabel('At', { exact: true }).fill('04:15')
  await page.getByLabel('Time zone').fill('Mars/Olympus')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await page.getByText('"Mars/Olympus" is not a time zone').waitFor()
  await page.getByLabel('Time zone').fill('America/New_York')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await arrived(page, 'Schedules')
  const all = part(page, '1 schedule')
  await all.getByText('Every Tuesday at 04:15 (America/New_York)').waitFor()
  await all.getByText(/Tue, .* your time, Tue, .*04:15 in America\/New_York/).waitFor()

  await page.getByRole('button', { name: 'Run now: schedule 1' }).click()
  await all.getByRole('link', { name: 'Migration 1' }).waitFor()
  await page.getByRole('button', { name: 'Pause schedule 1' }).click()
  await all.getByText('paused', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Resume schedule 1' }).click()
  await page.getByRole('button', { name: 'Pause schedule 1' }).waitFor()
  await page.getByRole('button', { name: 'Edit schedule 1' }).click()
  await arrived(page, 'Schedule 1')
  await part(page, 'Runs').getByText('started by hand').waitFor()
  assert.equal(await page.getByRole('checkbox', { name: 'alice/atlas' }).isChecked(), true)
  await page.getByLabel('Repeats').selectOption('every day')
  await page.getByLabel('Archives to keep').fill('7')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('the last 7 archives').waitFor()

  // What was changed elsewhere meanwhile is not changed back.
  const change = (body: object) =>
    service.call(token, '/user/migrations/schedules/1', {
      ...{ method: 'PATCH', body: JSON.stringify(body) },
    })
  const savedWith = async (isSaved: (schedule: Schedule) => boolean) => {
    await page.getByRole('button', { name: 'Save changes' }).click()
    return until('it is saved', async () => {
      const answer = await service.call(token, '/user/migrations/schedules/1')
      const schedule = (await answer.json()) as Schedule
      return isSaved(schedule) && schedule
    })
  }
  await page.getByLabel('At', { exact: true }).fill('05:30')
  await change({ keep: 9 })
  assert.equal((await savedWith(({ at }) => at === '05:30')).keep, 9)
  await change({ keep: 3 })
  await page.getByText('the last 3 archives').waitFor()
  assert.equal(await page.getByLabel('Archives to keep').inputValue(), '3')

  // A repository that is gone is not there to be found, so it is named.
  await change({ repositories: ['alice/atlas', 'alice/birds'] })
  await page.getByText('2 selected').waitFor()
  await rm(host.path('alice/birds'), { recursive: true })
  await service.godwit('sync')
  await page.getByRole('checkbox', { name: 'alice/coast' }).check()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('alice/birds: it does not exist').waitFor()
  await page.getByRole('button', { name: 'Deselect 1 repository' }).click()
  await savedWith(({ repositories }) => String(repositories) === 'alice/atlas,alice/coast')
  await page.getByRole('button', { name: 'Delete schedule 1' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await arrived(page, 'Schedules')
  await page.getByText('No schedules yet').waitFor()

  await page.goto(`${service.url}/#/orgs/octo/schedules/new`)
  await arrived(page, 'New schedule of octo')
  await page.getByRole('checkbox', { name: 'octo/kit' }).check()
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await arrived(page, 'Schedules of octo')
  await part(page, '1 schedule').getByText('octo/kit').waitFor()
  await leave(page)
})
