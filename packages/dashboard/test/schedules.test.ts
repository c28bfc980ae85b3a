import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import {
  dashboardPort,
  saveScreenshot,
  section,
  speedUpTimers,
  untilHeading,
} from '../../../test/support/dashboard.ts'
import { cleanupAfterFile } from '../../../test/support/file-cleanup.ts'
import { type GitHost, gitHost } from '../../../test/support/git-host.ts'
import type { SharedService } from '../../../test/support/service.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'
import { until } from '../../../test/support/wait-until.ts'
import type { Schedule } from '../../contract/src/schemas/types.ts'

const OWN = '/user/migrations/schedules'
const DAILY = { repositories: ['atlas'], every: 'day', at: '03:30', time_zone: 'UTC' }

const fileCleanup = cleanupAfterFile()
let host: GitHost
let service: SharedService

/** Each test has its own user. */
before(async () => {
  if (needsChromium.skip) return
  host = await gitHost()
  fileCleanup.after(host.remove)
  for (const login of ['alice', 'bob', 'carol', 'dora'])
    for (const name of ['atlas', 'birds', 'coast'])
      await host.repository(`${login}/${name}`, { files: { a: '1' } })
  await host.repository('octo/kit', { files: { a: '1' } })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\n')
  service = await startSharedService(fileCleanup, {
    repositories: host.root,
    port: await dashboardPort(),
    flags: ['--max-schedules', '30'],
  })
})

/** Opens the dashboard of a user. */
async function scene(t: TestContext, login: string) {
  const token = await service.token(login)
  const send = (method: string, path: string, body: object) =>
    service.call(token, path, { method, body: JSON.stringify(body) })
  const page = await visit(t, `${service.url}/`, { token, expected: /422|500/ })
  let path = ''
  const readSchedule = async () => (await (await service.call(token, path)).json()) as Schedule
  return {
    page,
    /** Creates a schedule, which the other functions use, and returns its id. */
    async createSchedule(more: object = {}): Promise<number> {
      const { id } = (await (await send('POST', OWN, { ...DAILY, ...more })).json()) as Schedule
      path = `${OWN}/${id}`
      return id
    },
    changeSchedule: (some: object) => send('PATCH', path, some),
    /** Runs the schedule, waits until the migration is exported, and returns its id. */
    async runSchedule(): Promise<number> {
      await send('POST', `${path}/runs`, {})
      await until(
        'the run is exported',
        async () => (await readSchedule()).last_run?.state === 'exported',
      )
      return (await readSchedule()).last_run!.migration_id!
    },
    readSchedule,
  }
}

type Scene = Awaited<ReturnType<typeof scene>>

const saveButton = (page: Page) => page.getByRole('button', { name: 'Save changes' })
const focusedElement = (page: Page) => page.locator(':focus')

test('a schedule can be created, run, paused, changed and deleted', needsChromium, async (t) => {
  const { page } = await scene(t, 'alice')
  await page.getByRole('link', { name: 'Schedules' }).click()
  await untilHeading(page, 'Schedules')
  await page.getByRole('link', { name: 'Create a schedule' }).click()
  await untilHeading(page, 'New schedule')
  await page.getByRole('checkbox', { name: 'alice/atlas' }).check()
  await page.getByLabel('Repeats').selectOption('every Tuesday')
  await page.getByLabel('At', { exact: true }).fill('04:15')
  await page.getByLabel('Time zone').fill('Mars/Olympus')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  const failed = page.getByRole('alert').filter({ hasText: 'The schedule was not saved' })
  await failed.getByText('"Mars/Olympus" is not a time zone').waitFor()
  const timeZone = page.getByLabel('Time zone')
  await timeZone.and(focusedElement(page)).and(page.locator('[aria-invalid="true"]')).waitFor()
  await timeZone.fill('America/New_York')
  await page.getByLabel('Archives to keep').fill('0')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await failed.getByText('Archives to keep: Enter a number from 1 to 100.').waitFor()
  await page.getByLabel('Archives to keep').fill('4')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await untilHeading(page, 'Schedules')
  const all = section(page, '1 schedule')
  await all.getByText('Every Tuesday at 04:15 (America/New_York)').waitFor()
  await all.getByText(/Tue, .* your time, Tue, .*04:15 in America\/New_York/).waitFor()

  await page.getByRole('button', { name: 'Run now schedule 1' }).click()
  await all.getByRole('link', { name: 'Migration 1' }).waitFor()
  await page.getByRole('button', { name: 'Pause schedule 1' }).click()
  await all.getByText('Paused', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Resume schedule 1' }).click()
  await page.getByRole('button', { name: 'Pause schedule 1' }).waitFor()
  await page.getByRole('button', { name: 'Edit schedule 1' }).click()
  await untilHeading(page, 'Schedule 1')
  await section(page, 'Runs').getByText('Started manually').waitFor()
  assert.equal(await page.getByRole('checkbox', { name: 'alice/atlas' }).isChecked(), true)
  assert.ok(await saveButton(page).isDisabled(), 'nothing was edited')
  await page.getByLabel('Repeats').selectOption('every day')
  await page.getByLabel('Archives to keep').fill('7')
  await saveButton(page).click()
  await page.getByText('the last 7 archives').waitFor()
  await page.getByRole('button', { name: 'Delete schedule 1' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await untilHeading(page, 'Schedules')
  await page.getByText('No schedules yet').waitFor()

  await page.goto(`${service.url}/#/orgs/octo/schedules/new`)
  await untilHeading(page, 'New schedule of octo')
  await page.getByRole('checkbox', { name: 'octo/kit' }).waitFor()
  await page.getByRole('checkbox', { name: 'All repositories, including future ones' }).check()
  await page.getByLabel('Name (optional)').fill('Nightly')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await untilHeading(page, 'Schedules of octo')
  const ofOcto = section(page, '1 schedule')
  await ofOcto.getByText('All repositories of octo, including future ones').waitFor()
  await ofOcto.getByRole('link', { name: /^Nightly: Every Sunday/ }).click()
  await untilHeading(page, 'Nightly (schedule 2)')
  await page.getByText('All repositories of octo, including future ones. Runs as alice.').waitFor()
  await page.getByRole('checkbox', { name: 'All repositories, including future ones' }).uncheck()
  await page.getByRole('checkbox', { name: 'octo/kit' }).check()
  await saveButton(page).click()
  await page.getByText('octo/kit. Runs as alice.').waitFor()
  await endVisit(page)
})

test('edits of a schedule are neither lost nor overwritten', needsChromium, async (t) => {
  const story = await scene(t, 'bob')
  const { page, createSchedule } = story
  const id = await createSchedule()
  await speedUpTimers(page, 10_000)
  await page.goto(`${service.url}/#/schedules/${id}`)
  await untilHeading(page, `Schedule ${id}`)
  await saveWhileTyping(story)
  await editDuringOtherChanges(story)
  await editWithDeletedRepository(story)
  await page.route(/schedules\/\d+(\/runs)?$/, (route) => route.fulfill({ status: 500 }))
  await page.getByText('This page may be out of date').waitFor()
  await section(page, 'Runs').getByText('May be out of date').waitFor()
  await page.unrouteAll({ behavior: 'wait' })
  await page.getByText('This page may be out of date').waitFor({ state: 'detached' })
  await endVisit(page)
})

/** The form keeps its focus, its search, and what is typed before the response arrives. */
async function saveWhileTyping({ page, readSchedule }: Scene): Promise<void> {
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  await page.route(/schedules\/\d+$/, async (route) => {
    if (route.request().method() === 'PATCH') await isReleased
    await route.continue()
  })
  await page.getByRole('searchbox').fill('coast')
  await page.getByLabel('Archives to keep').fill('7')
  await saveButton(page).click()
  const at = page.getByLabel('At', { exact: true })
  await at.fill('05:00')
  release()
  await page.getByText('the last 7 archives').waitFor()
  await at.and(focusedElement(page)).waitFor()
  assert.equal(await at.inputValue(), '05:00')
  assert.equal(await page.getByRole('searchbox').inputValue(), 'coast')
  await page.unrouteAll({ behavior: 'wait' })
  await page.getByRole('searchbox').fill('')
  await saveButton(page).click()
  await until('the schedule is saved', async () => (await readSchedule()).at === '05:00')
  await until('there is nothing to save', () => saveButton(page).isDisabled())
}

async function editDuringOtherChanges({
  page,
  changeSchedule,
  readSchedule,
}: Scene): Promise<void> {
  const [at, keep] = [page.getByLabel('At', { exact: true }), page.getByLabel('Archives to keep')]
  const changed = page.getByText('Changed elsewhere')
  await at.fill('05:30')
  await changeSchedule({ keep: 9 })
  await changed.waitFor()
  await saveScreenshot(page, 'schedule-changed-elsewhere')
  assert.deepEqual([await at.inputValue(), await keep.inputValue()], ['05:30', '7'])
  await saveButton(page).click()
  await until('the schedule is saved', async () => (await readSchedule()).at === '05:30')
  assert.equal((await readSchedule()).keep, 9)
  await until('the form shows the saved value', async () => (await keep.inputValue()) === '9')
  assert.deepEqual([await at.inputValue(), await changed.count()], ['05:30', 0])

  // Without edits the new version is loaded; otherwise on request.
  await changeSchedule({ keep: 3 })
  await page.getByText('the last 3 archives').waitFor()
  assert.equal(await keep.inputValue(), '3')
  await at.fill('06:00')
  await changeSchedule({ keep: 5 })
  await page.getByRole('button', { name: 'Load the new settings' }).click()
  await saveButton(page).and(focusedElement(page)).waitFor()
  assert.deepEqual([await at.inputValue(), await keep.inputValue()], ['05:30', '5'])
  assert.equal(await changed.count(), 0)
}

/** A deleted repository is not in the search results, so it is shown by name. */
async function editWithDeletedRepository(story: Scene): Promise<void> {
  const { page, changeSchedule, readSchedule } = story
  await changeSchedule({ repositories: ['bob/atlas', 'bob/birds'] })
  await page.getByText('2 selected').waitFor()
  await rm(host.path('bob/birds'), { recursive: true })
  await service.godwit('sync')
  await page.getByRole('checkbox', { name: 'Lock repositories' }).check()
  await saveButton(page).click()
  await page.getByText('bob/birds no longer exists, or may no longer be migrated.').waitFor()
  await saveScreenshot(page, 'schedule-not-saved')
  await page.getByRole('button', { name: 'Deselect 1 repository' }).click()
  await saveButton(page).and(focusedElement(page)).waitFor()
  await saveButton(page).click()
  await until('the schedule is saved', async () => (await readSchedule()).lock_repositories)
  assert.deepEqual((await readSchedule()).repositories, ['bob/atlas'])
}

test(
  'the last archive that holds a repository is marked and can be released',
  needsChromium,
  async (t) => {
    const { page, createSchedule, readSchedule, runSchedule } = await scene(t, 'carol')
    const id = await createSchedule({ repositories: ['atlas', 'birds'], keep: 1 })
    const first = await runSchedule()
    await rm(host.path('carol/birds'), { recursive: true })
    await service.godwit('sync')
    await runSchedule()
    await page.goto(`${service.url}/#/schedules/${id}`)
    await untilHeading(page, `Schedule ${id}`)
    const protectedArchives = section(page, 'Protected archives')
    await protectedArchives.getByRole('link', { name: `Migration ${first}` }).waitFor()
    await protectedArchives.getByText('carol/birds').waitFor()
    await saveScreenshot(page, 'schedule-protected-archive')
    const release = page.getByRole('button', { name: `Release the archive of migration ${first}` })
    await release.click()
    await page.getByRole('alertdialog').getByText('No newer archive of this schedule').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Release' }).click()
    // While the dialog is open, the page behind it cannot be found by its roles.
    await until('no archive is protected', async () => {
      const { protected_archives: archives } = await readSchedule()
      return archives.length === 0
    })
    await release.waitFor({ state: 'detached' })
    await endVisit(page)
  },
)

test('more schedules than fit on a page are paginated', needsChromium, async (t) => {
  const { page, createSchedule } = await scene(t, 'dora')
  for (let keep = 1; keep <= 26; keep += 1) await createSchedule({ keep })
  await page.goto(`${service.url}/#/schedules`)
  await section(page, '26 schedules').getByText('the last 25 archives').waitFor()
  assert.equal(await page.getByText('the last 26 archives').count(), 0)
  await page.getByRole('link', { name: 'Page 2' }).click()
  await section(page, '26 schedules').getByText('the last 26 archives').waitFor()
  await page.goto(`${service.url}/#/schedules/page/3`)
  await page.getByText('This page does not exist.').waitFor()
  await page.getByRole('link', { name: 'First page' }).click()
  await page.getByText('the last 25 archives').waitFor()
  await endVisit(page)
})
