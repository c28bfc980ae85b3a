import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { leave, visit } from './browser.ts'
import { dashboardPort, keepScreenshot } from './dashboard.ts'
import { DAMAGED_REPOSITORIES } from './export-damage.ts'
import { type SharedStory, sharedExportStory } from './export-story.ts'
import { slowGit } from './slow-git.ts'
import { until } from './wait-until.ts'

/** The size and theme in which a page is checked, and whether axe checks it too. */
export interface Look {
  colors: 'light' | 'dark'
  width: number
  height: number
  axe: boolean
}

export const SIZES = {
  wide: { width: 1440, height: 900 },
  middling: { width: 768, height: 1024 },
  narrow: { width: 390, height: 844 },
}

interface Scene {
  name: string
  /** The path of the page, after the address of the server. */
  at: string
  token?: string
  expected?: RegExp
  /** Waits until the page is complete. */
  ready(page: Page): Promise<unknown>
}

const says = (text: string | RegExp) => (page: Page) => page.getByText(text).first().waitFor()

/** Checks every page of the dashboard in each look: axe finds no violation, and nothing is cut off. */
export async function checkEveryPage(t: TestContext, looks: readonly [Look, ...Look[]]) {
  const { story, scenes } = await everyState(t)
  const open = tabs(t, story.service.url, looks[0])
  let page: Page | undefined
  for (const scene of scenes) {
    await t.test(`${scene.name}: nothing axe complains of, nothing cut off`, async () => {
      page = await open(scene)
      await detectChanges(page, scene, looks)
    })
  }
  if (page) await leave(page)
}

/** Visits several pages in one tab by following links, because loading each page takes longer than checking it. */
function tabs(t: TestContext, url: string, first: Look): (scene: Scene) => Promise<Page> {
  let last: { page: Page; scene: Scene } | undefined
  return async (scene) => {
    const { at, token, expected } = scene
    if (last && last.scene.token === token && last.scene.expected === expected) {
      await show(last.page, first)
      await last.page.goto(`${url}/${at}`)
      return last.page
    }
    if (last) await leave(last.page)
    const options = { ...(token && { token }), ...(expected && { expected }) }
    const page = await visit(t, `${url}/${at}`, options)
    last = { page, scene }
    return page
  }
}

async function show(page: Page, { colors, width, height }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme: colors })
  await page.setViewportSize({ width, height })
}

async function detectChanges(
  page: Page,
  { name, ready }: Scene,
  looks: readonly Look[],
): Promise<void> {
  await ready(page)
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source)
  for (const look of looks) {
    const { colors, width, axe: isAsked } = look
    await show(page, look)
    await page.evaluate(SETTLE_COLORS)
    await keepScreenshot(page, `${name}-${colors}-${width}`)
    if (isAsked) assert.deepEqual(await complaints(page), [], `${colors}, ${width} pixels wide`)
    const overhang = (await page.evaluate(OVERHANG)) as number
    const hidden = (await page.evaluate(SCROLLING)) as string[]
    assert.deepEqual(hidden, [], `must be scrolled sideways at ${width}`)
    assert.ok(overhang <= 0, `${overhang} pixels are cut off at ${width}`)
  }
}

/** Ends animations of colours and dialogs, during which the contrast cannot be measured. */
const SETTLE_COLORS = `for (const each of document.getAnimations()) {
  if (Number.isFinite(each.effect.getComputedTiming().endTime)) each.finish()
}`
const OVERHANG = 'document.documentElement.scrollWidth - innerWidth'

/** Tables that are wider than their container. */
const SCROLLING = `[...document.querySelectorAll('section:has(> table)')]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.getAttribute('aria-label'))`

async function complaints(page: Page): Promise<string[]> {
  const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[]
  }
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
  )
}

/** Starts a service with migrations in every state: exported, failed, running and locked. */
async function everyState(t: TestContext): Promise<{ story: SharedStory; scenes: Scene[] }> {
  const slow = await slowGit({ afterFirst: 4 })
  t.after(slow.remove)
  const story = await sharedExportStory(t, {
    port: await dashboardPort(),
    async repositories(host) {
      const files = { 'README.md': 'Words\n'.repeat(2000) }
      for (const name of ['atlas', 'birds', 'coast']) {
        await host.repository(`alice/${name}`, {
          files: { ...files, name },
          description: `All about ${name}`,
          public: name === 'coast',
        })
      }
      await host.repository('carol/empty-handed')
      DAMAGED_REPOSITORIES.grafted!.make(host.path('alice/grafted'))
    },
    flags: ['--git', slow.program, '--concurrency', '1', '--webhook-networks', '127.0.0.1'],
  })
  const { service } = story
  await service.godwit('account', 'edit', 'alice', '--site-admin')
  await service.godwit('account', 'add', 'newcomer')
  await service.godwit('account', 'add', 'octo', '--type', 'Organization')
  await service.godwit('member', 'add', 'octo', 'alice', '--role', 'owner')
  const token = await service.token('alice')
  const exported = await story.migrate(['alice/atlas', 'alice/birds'], { lock_repositories: true })
  const failed = await story.migrate(['alice/atlas', 'alice/grafted'], {}, 'failed')
  const partial = await story.migrate(['alice/atlas', 'alice/grafted'], { allow_partial: true })
  const deleted = await story.migrate(['alice/atlas'])
  await story.call(`/user/migrations/${deleted.id}/archive`, { method: 'DELETE' })
  // The last repository is never verified, so that its migration keeps running.
  for (const name of ['alice/atlas', 'alice/birds']) {
    await story.host.commit(story.host.path(name), { more: '1' })
  }
  const running = await story.start(['alice/atlas', 'alice/birds', 'alice/coast'])
  await slow.pid()
  const cancelled = await story.start(['alice/coast'])
  await story.call(`/user/migrations/${cancelled}/cancel`, { method: 'POST' })

  await makeSchedules(story)
  await makeWebhook(story)
  const migration = (name: string, id: number, text: string | RegExp): Scene => ({
    name,
    at: `#/migrations/${id}`,
    token,
    ready: says(text),
  })
  return {
    story,
    scenes: [
      { name: 'sign-in', at: '', ready: says('Sign in to Godwit') },
      {
        name: 'repository-public',
        at: '#/repositories/alice/coast',
        ready: says('All about coast'),
      },
      {
        name: 'sign-in-expired',
        at: '',
        token: 'gwt_expired',
        expected: /401/,
        ready: says('You are signed out'),
      },
      {
        name: 'migrations-none',
        at: '',
        token: await service.token('newcomer'),
        ready: says('No migrations yet'),
      },
      { name: 'migrations', at: '', token, ready: says('7 migrations') },
      { name: 'schedules', at: '#/schedules', token, ready: says('3 schedules') },
      { name: 'schedule', at: '#/schedules/1', token, ready: chooseSchedule },
      { name: 'new-schedule', at: '#/schedules/new', token, ready: chooseSchedule },
      { name: 'webhooks', at: '#/webhooks', token, ready: says('1 webhook') },
      { name: 'webhook', at: '#/webhooks/1', token, ready: lookAtDelivery },
      { name: 'new-webhook', at: '#/webhooks/new', token, ready: chooseEvents },
      { name: 'organization', at: '#/orgs/octo', token, ready: says('Migrations of octo') },
      { name: 'new-migration', at: '#/new', token, ready: chooseSome },
      migration('migration-exported', exported.id, 'The archive is ready'),
      migration('migration-partial', partial.id, 'Exported in part'),
      migration('migration-cancelled', cancelled, 'Migration cancelled'),
      migration('migration-failed', failed.id, 'Migration failed'),
      migration('migration-deleted', deleted.id, 'The archive no longer exists'),
      migration('migration-exporting', running, '2 of 3'),
      { ...migration('confirmation', exported.id, ''), ready: askToDelete },
      { name: 'service', at: '#/service', token, ready: says('Running exports') },
      { name: 'service-action', at: '#/service', token, ready: askToCancel },
      {
        name: 'repository',
        at: '#/repositories/alice/atlas',
        token,
        ready: async (page) => {
          await page.getByRole('region', { name: 'Branches' }).getByText('main').waitFor()
          await page.getByRole('link', { name: `Migration ${exported.id}`, exact: true }).waitFor()
          await page.getByText('locks this repository').waitFor()
        },
      },
      { ...migration('not-found', 999, ''), expected: /404/, ready: says('Not found') },
    ],
  }
}

/** Creates a schedule that has run, one that is paused, and one with a long time zone name. */
async function makeSchedules({ call }: SharedStory): Promise<void> {
  const weekly = {
    repositories: ['alice/atlas', 'alice/birds'],
    every: 'week',
    weekday: 'sunday',
    at: '03:30',
    time_zone: 'Europe/Zurich',
  }
  const make = (body: object) =>
    call('/user/migrations/schedules', { method: 'POST', body: JSON.stringify(body) })
  await make(weekly)
  await make({ ...weekly, paused: true })
  await make({ ...weekly, time_zone: 'America/Argentina/Ushuaia', keep: 1 })
  const { status } = await call('/user/migrations/schedules/1/runs', { method: 'POST' })
  assert.equal(status, 201)
}

/** Creates a webhook with a long address where nothing listens. */
async function makeWebhook({ call }: SharedStory): Promise<void> {
  const url = `http://127.0.0.1:9/${'services/godwit/'.repeat(8)}`
  const body = JSON.stringify({ config: { url, content_type: 'json', secret: 'whisper' } })
  const { status } = await call('/user/hooks', { method: 'POST', body })
  assert.equal(status, 201)
  // A page that was opened before shows it only after its next poll.
  await until('its ping was refused', async () => {
    const answer = await call('/user/hooks/1/deliveries')
    return (await answer.text()).includes('connection refused')
  })
}

async function lookAtDelivery(page: Page): Promise<void> {
  await page.getByText('connection refused').first().waitFor()
  await page.getByRole('button', { name: 'Details of delivery 1' }).click()
  await page.getByRole('region', { name: 'Delivery 1' }).getByText('x-github-event').waitFor()
}

async function chooseEvents(page: Page): Promise<void> {
  await page.getByRole('radio', { name: 'Only some' }).check()
  await page.getByRole('checkbox', { name: 'Exported in part' }).check()
}

async function chooseSchedule(page: Page): Promise<void> {
  await page.getByLabel('Archives to keep').waitFor()
  await page.getByRole('checkbox', { name: 'alice/atlas' }).waitFor()
}

async function chooseSome(page: Page): Promise<void> {
  await page.getByLabel('Select all').check()
  await page.getByText('More options').click()
  await page.getByText('so the migration would fail').waitFor()
}

async function askToCancel(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /^Cancel migration/ })
    .first()
    .click()
  await page.getByRole('alertdialog').waitFor()
}

async function askToDelete(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').waitFor()
}
