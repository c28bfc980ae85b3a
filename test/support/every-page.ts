import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { endVisit, visit } from './browser.ts'
import { dashboardPort, saveScreenshot } from './dashboard.ts'
import { DAMAGED_REPOSITORIES } from './export-damage.ts'
import { type SharedStory, sharedExportStory } from './export-story.ts'
import { slowGit } from './slow-git.ts'
import { until } from './wait-until.ts'

/** The size and theme in which a page is checked, and which rules of axe it is checked with. */
export interface Appearance {
  colors: 'light' | 'dark'
  width: number
  height: number
  axe?: AxeRules
}

/** The rules about style are enough for a page that passed all of them in another theme. */
type AxeRules = 'all' | 'style'

export const SIZES = {
  wide: { width: 1440, height: 900 },
  middling: { width: 768, height: 1024 },
  narrow: { width: 390, height: 844 },
}

interface PageState {
  name: string
  /** The path of the page, after the address of the server. */
  at: string
  token?: string
  expected?: RegExp
  /** Waits until the page is complete. */
  ready(page: Page): Promise<unknown>
}

const showsText = (text: string | RegExp) => (page: Page) => page.getByText(text).first().waitFor()

/** Checks every page of the dashboard in each appearance: axe finds no violation, and nothing is cut off. */
export async function checkEveryPage(
  t: TestContext,
  appearances: readonly [Appearance, ...Appearance[]],
) {
  const { story, pages } = await startEveryState(t)
  const open = createPageOpener(t, story.service.url, appearances[0])
  let page: Page | undefined
  for (const state of pages) {
    await t.test(`${state.name}: axe finds no violation, and nothing is cut off`, async () => {
      page = await open(state)
      await checkPage(page, state, appearances)
    })
  }
  if (page) await endVisit(page)
}

/** Visits several pages in one tab by following links, because loading each page takes longer than checking it. */
function createPageOpener(
  t: TestContext,
  url: string,
  first: Appearance,
): (state: PageState) => Promise<Page> {
  let last: { page: Page; state: PageState } | undefined
  return async (state) => {
    const { at, token, expected } = state
    if (last && last.state.token === token && last.state.expected === expected) {
      await setAppearance(last.page, first)
      await last.page.goto(`${url}/${at}`)
      return last.page
    }
    if (last) await endVisit(last.page)
    const options = { ...(token && { token }), ...(expected && { expected }) }
    const page = await visit(t, `${url}/${at}`, options)
    last = { page, state }
    return page
  }
}

async function setAppearance(page: Page, { colors, width, height }: Appearance): Promise<void> {
  await page.emulateMedia({ colorScheme: colors })
  await page.setViewportSize({ width, height })
}

async function checkPage(
  page: Page,
  { name, ready }: PageState,
  appearances: readonly Appearance[],
): Promise<void> {
  await ready(page)
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source)
  for (const appearance of appearances) {
    const { colors, width, axe: rules } = appearance
    await setAppearance(page, appearance)
    await page.evaluate(FINISH_ANIMATIONS)
    await saveScreenshot(page, `${name}-${colors}-${width}`)
    const violations = rules ? await axeViolations(page, rules) : []
    assert.deepEqual(violations, [], `${colors}, ${width} pixels wide`)
    const overflow = (await page.evaluate(OVERFLOW_WIDTH)) as number
    const tables = (await page.evaluate(OVERFLOWING_TABLES)) as string[]
    assert.deepEqual(tables, [], `must be scrolled sideways at ${width}`)
    assert.ok(overflow <= 0, `${overflow} pixels are cut off at ${width}`)
  }
}

/** Ends animations of colours and dialogs, during which the contrast cannot be measured. */
const FINISH_ANIMATIONS = `for (const each of document.getAnimations()) {
  if (Number.isFinite(each.effect.getComputedTiming().endTime)) each.finish()
}`
const OVERFLOW_WIDTH = 'document.documentElement.scrollWidth - innerWidth'

/** Tables that are wider than their container. */
const OVERFLOWING_TABLES = `[...document.querySelectorAll('section:has(> table)')]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.getAttribute('aria-label'))`

/** The rules whose result can depend on colours, sizes and positions, rather than on which elements are visible. */
const STYLE_RULES = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable']

/**
 * Style sheets are not requested again, which a strict policy forbids and no rule in use needs. The page returns
 * only the violations, because transferring the elements that pass takes as long as checking them.
 */
export async function axeViolations(page: Page, rules: AxeRules): Promise<string[]> {
  const options = {
    ...{ preload: false, selectors: false, resultTypes: ['violations'] },
    ...(rules === 'style' && { runOnly: { type: 'rule', values: STYLE_RULES } }),
  }
  const violations = (await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )) as { id: string; nodes: { html: string; failureSummary: string }[] }[]
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
  )
}

/** Starts a service with migrations in every state: exported, failed, running and locked. */
async function startEveryState(
  t: TestContext,
): Promise<{ story: SharedStory; pages: PageState[] }> {
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
  await slow.untilSlow()
  const cancelled = await story.start(['alice/coast'])
  await story.call(`/user/migrations/${cancelled}/cancel`, { method: 'POST' })

  await createSchedules(story)
  await createWebhook(story)
  const migration = (name: string, id: number, text: string | RegExp): PageState => ({
    name,
    at: `#/migrations/${id}`,
    token,
    ready: showsText(text),
  })
  return {
    story,
    pages: [
      { name: 'sign-in', at: '', ready: showsText('Sign in to Godwit') },
      {
        name: 'repository-public',
        at: '#/repositories/alice/coast',
        ready: showsText('All about coast'),
      },
      {
        name: 'sign-in-expired',
        at: '',
        token: 'gwt_expired',
        expected: /401/,
        ready: showsText('You are signed out'),
      },
      {
        name: 'repositories-none',
        at: '',
        token: await service.token('newcomer'),
        ready: showsText('No repositories found for newcomer'),
      },
      {
        name: 'migrations-none',
        at: '',
        token: await service.token('carol'),
        ready: showsText('No migrations yet'),
      },
      { name: 'migrations', at: '', token, ready: showsText('7 migrations') },
      { name: 'schedules', at: '#/schedules', token, ready: showsText('3 schedules') },
      { name: 'schedule', at: '#/schedules/1', token, ready: untilScheduleForm },
      { name: 'new-schedule', at: '#/schedules/new', token, ready: untilScheduleForm },
      { name: 'webhooks', at: '#/webhooks', token, ready: showsText('1 webhook') },
      { name: 'webhook', at: '#/webhooks/1', token, ready: openDelivery },
      { name: 'new-webhook', at: '#/webhooks/new', token, ready: selectEvents },
      { name: 'tokens', at: '#/tokens', token, ready: showsText('Create token') },
      { name: 'token-created', at: '#/tokens', token, ready: createToken },
      {
        name: 'tokens-sign-in',
        at: '#/tokens',
        token: await ownToken(service, token),
        ready: showsText('Sign in again to create or revoke tokens'),
      },
      { name: 'organization', at: '#/orgs/octo', token, ready: showsText('Migrations of octo') },
      { name: 'new-migration', at: '#/new', token, ready: selectRepositories },
      migration('migration-exported', exported.id, 'The archive is ready'),
      migration('migration-partial', partial.id, 'Partly exported'),
      migration('migration-cancelled', cancelled, 'Migration cancelled'),
      migration('migration-failed', failed.id, 'Migration failed'),
      migration('migration-deleted', deleted.id, 'The archive no longer exists'),
      migration('migration-exporting', running, '2 of 3'),
      { ...migration('confirmation', exported.id, ''), ready: openDeleteDialog },
      { name: 'service', at: '#/service', token, ready: showsText('Running exports') },
      { name: 'audit', at: '#/audit', token, ready: showsText('Entries') },
      { name: 'service-action', at: '#/service', token, ready: openCancelDialog },
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
      { name: 'owner', at: '#/owners/alice', token, ready: showsText('4 repositories') },
      { name: 'owner-public', at: '#/owners/alice', ready: showsText('1 repository') },
      { name: 'docs', at: 'docs', token, ready: tryOperation },
      { ...migration('not-found', 999, ''), expected: /404/, ready: showsText('Not found') },
    ],
  }
}

/** Creates a schedule that has run, one that is paused, and one with a long time zone name. */
async function createSchedules({ call }: SharedStory): Promise<void> {
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
async function createWebhook({ call }: SharedStory): Promise<void> {
  const url = `http://127.0.0.1:9/${'services/godwit/'.repeat(8)}`
  const body = JSON.stringify({ config: { url, content_type: 'json', secret: 'whisper' } })
  const { status } = await call('/user/hooks', { method: 'POST', body })
  assert.equal(status, 201)
  // A page that was opened before shows it only after its next poll.
  await until('the connection of its ping was refused', async () => {
    const response = await call('/user/hooks/1/deliveries')
    return (await response.text()).includes('connection refused')
  })
}

/** Creates a token in a browser session. A session that is opened with it cannot create others. */
async function ownToken({ url }: SharedStory['service'], token: string): Promise<string> {
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'x-godwit-session': '1', ...headers },
    })
  const [cookie = ''] = (await post('/session', { token })).headers.getSetCookie()
  const body = { name: 'nightly', expires_in_days: 90, read_only: true }
  const created = await post('/user/tokens', body, { cookie: cookie.split(';')[0]! })
  return ((await created.json()) as { token: string }).token
}

async function createToken(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByRole('button', { name: 'Copy token' }).waitFor()
}

async function openDelivery(page: Page): Promise<void> {
  await page.getByText('connection refused').first().waitFor()
  await page.getByRole('button', { name: 'Details of delivery 1' }).click()
  await page.getByRole('region', { name: 'Delivery 1' }).getByText('x-github-event').waitFor()
}

async function selectEvents(page: Page): Promise<void> {
  await page.getByRole('radio', { name: 'Individual events' }).check()
  await page.getByRole('checkbox', { name: 'Partly exported' }).check()
}

async function untilScheduleForm(page: Page): Promise<void> {
  await page.getByLabel('Archives to keep').waitFor()
  await page.getByRole('checkbox', { name: 'alice/atlas' }).waitFor()
}

async function selectRepositories(page: Page): Promise<void> {
  await page.getByLabel('Select all').check()
  await page.getByText('More options').click()
  await page.getByText('so the migration would fail:').waitFor()
}

async function tryOperation(page: Page): Promise<void> {
  await page.getByLabel('Search').fill('start a migration')
  const path = page.locator('[data-path="/user/migrations"]')
  await page.locator('.opblock-post', { has: path }).getByRole('button').first().click()
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('button', { name: 'Execute' }).waitFor()
}

async function openCancelDialog(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /^Cancel migration/ })
    .first()
    .click()
  await page.getByRole('alertdialog').waitFor()
}

async function openDeleteDialog(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').waitFor()
}
