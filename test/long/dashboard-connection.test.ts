import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import type { Progress } from '../../packages/contract/src/schemas/types.ts'
import { needsChromium, visit } from '../support/browser.ts'
import { dashboardPort, section, signIn, untilHeading } from '../support/dashboard.ts'
import { type ExportStory, exportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type SlowGit, slowGit } from '../support/slow-git.ts'

const fileCleanup = cleanupAfterFile()
let story: ExportStory
/** Fast unless a test slows it down. */
let slow: SlowGit

before(async () => {
  if (needsChromium.skip) return
  slow = await slowGit()
  fileCleanup.after(slow.remove)
  await slow.speedUp()
  story = await exportStory(fileCleanup, {
    port: await dashboardPort(),
    async repositories(host) {
      for (const name of ['atlas', 'birds', 'coast', 'dunes', 'elms', 'ferns', 'gulls'])
        await host.repository(`alice/${name}`, { files: { 'README.md': 'Words\n' } })
    },
    flags: ['--git', slow.program, '--concurrency', '1'],
  })
})

test(
  'a revoked token leads to the sign-in page and, after signing in, back to the same page',
  needsChromium,
  async (t) => {
    const { id } = await story.migrate(['alice/atlas'])
    const token = await story.service.token('alice', '--name', 'tab')
    const page = await visit(t, story.service.url, { expected: /401/ })
    await signIn(page, token)
    await page.getByRole('link', { name: `Migration ${id}` }).click()
    await untilHeading(page, `Migration ${id}`)

    const listed = await story.service.godwit('token', 'list')
    const number = /^(\d+) .* tab /m.exec(listed)?.[1] ?? assert.fail(listed)
    await story.service.godwit('token', 'remove', number)
    await page.reload()
    await page.getByText('Your token has expired or was revoked').waitFor()
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
    await signIn(page, await story.service.token('alice'))
    await untilHeading(page, `Migration ${id}`)
  },
)

test(
  'a page shows that its server is unavailable, and continues when the server is back',
  needsChromium,
  async (t) => {
    await slow.slowDown(1)
    const token = await story.service.token('alice')
    const id = await story.start(['alice/birds', 'alice/coast'])
    const page = await visit(t, `${story.service.url}/#/migrations/${id}`, {
      token,
    })
    await section(page, 'Progress').getByText('1 of 2').waitFor()
    await slow.untilSlow()

    await story.service.kill('SIGKILL')
    await slow.speedUp()
    await page.getByText('Reconnecting…').waitFor()
    await section(page, 'Progress').getByText('1 of 2').waitFor()
    await story.service.restartShared()
    await page.getByText('The archive is ready').waitFor()
    await page.getByText('Reconnecting…').waitFor({ state: 'detached' })
    await section(page, 'Progress').getByText('2 of 2').waitFor()
  },
)

test('without event streams the page polls, and names a stall', needsChromium, async (t) => {
  await slow.slowDown()
  const token = await story.service.token('alice')
  const id = await story.start(['alice/dunes'])
  await slow.untilSlow()
  const page = await visit(t, story.service.url, { token })
  const etags: string[] = []
  const since = new Date(Date.now() - 5.5 * 3_600_000).toISOString()
  await page.route(/\/progress$/, async (route) => {
    const headers = route.request().headers()
    if (headers.accept === 'text/event-stream') return route.abort()
    etags.push(headers['if-none-match'] ?? '')
    const response = await route.fetch()
    if (response.status() !== 200) return route.fulfill({ response })
    const json = (await response.json()) as Progress
    const stall = { stalled_since: since, waiting_for: 'git data of alice/dunes' }
    return route.fulfill({ response, json: { ...json, totals: { ...json.totals, ...stall } } })
  })
  await page.getByRole('link', { name: `Migration ${id}` }).click()
  await page.getByText('Live updates are not available').waitFor()
  const progress = section(page, 'Progress')
  await progress
    .getByText('the last was 5 hours ago. Waiting for git data of alice/dunes')
    .waitFor()
  await progress.getByText(/^journalctl .* grep -E '"migration\(Id\)\?":\d+/).waitFor()
  await story.call(`/user/migrations/${id}/cancel`, { method: 'POST' })
  await page.getByText('Migration cancelled').waitFor()
  assert.equal(etags[0], '')
  assert.ok(
    etags.slice(1).every((etag) => etag !== ''),
    'a later request has no ETag',
  )
  await slow.speedUp()
})

test('a silent event stream is given up and replaced by polling', needsChromium, async (t) => {
  await slow.slowDown()
  const token = await story.service.token('alice')
  const id = await story.start(['alice/elms'])
  const page = await visit(t, story.service.url, { token })
  // One event and then silence, without heartbeats; the timers are sped up.
  await page.evaluate(`{
    const [fetched, soon] = [fetch, setTimeout]
    globalThis.setTimeout = (act, ms) => soon(act, ms > 20_000 ? ms / 100 : ms)
    globalThis.fetch = async (address, options) => {
      if (options.headers.accept !== 'text/event-stream') return fetched(address, options)
      const { readable, writable } = new TransformStream()
      const writer = writable.getWriter()
      options.signal.addEventListener('abort', () => void writer.abort())
      void writer.write(new TextEncoder().encode('event: none\\ndata: {}\\n\\n'))
      return new Response(readable, { headers: { 'content-type': 'text/event-stream' } })
    }
  }`)
  await page.getByRole('link', { name: `Migration ${id}` }).click()
  await section(page, 'Progress').waitFor()
  await story.call(`/user/migrations/${id}/cancel`, { method: 'POST' })
  await page.getByText('Migration cancelled').waitFor()
  await slow.speedUp()
})

/** Delays every response with a summary until it is released. */
async function holdSummaries(page: Page): Promise<() => void> {
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  await page.route(/\/summary$/, async (route) => {
    await isReleased
    await route.continue()
  })
  return release
}

const isStream = (request: Request) => request.headers().accept === 'text/event-stream'

test('an archive is not mentioned before its state is known', needsChromium, async (t) => {
  await slow.slowDown()
  const token = await story.service.token('alice')
  const id = await story.start(['alice/ferns'])
  const at = `${story.service.url}/#/migrations/${id}`
  const page = await visit(t, at, { token })
  await section(page, 'Progress').waitFor()
  // Only the tab that was shown last has an event stream, because a browser has few connections to a server.
  const other = await page.context().newPage()
  t.after(() => other.close())
  const ended = page.waitForEvent('requestfailed', isStream)
  await other.goto(at)
  await ended
  const begun = page.waitForRequest(isStream)
  await page.evaluate(`dispatchEvent(new Event('focus'))`)
  await begun
  const release = await holdSummaries(page)
  await slow.speedUp()
  await page.getByText('Exported', { exact: true }).waitFor()
  assert.equal(await page.getByText('The archive no longer exists').count(), 0)
  release()
  await page.getByText('The archive is ready').waitFor()
})

test(
  'a cancelled migration is shown as cancelled before its summary is loaded',
  needsChromium,
  async (t) => {
    await slow.slowDown()
    const token = await story.service.token('alice')
    const id = await story.start(['alice/gulls'])
    const page = await visit(t, `${story.service.url}/#/migrations/${id}`, { token })
    await section(page, 'Progress').waitFor()
    const release = await holdSummaries(page)
    await story.call(`/user/migrations/${id}/cancel`, { method: 'POST' })
    await page.getByText('Migration cancelled').waitFor()
    release()
    await slow.speedUp()
  },
)

test(
  'a page that the server no longer has shows an error, and other pages still work',
  needsChromium,
  async (t) => {
    const token = await story.service.token('alice')
    const expected = /404|dynamically imported|reload/i
    const page = await visit(t, story.service.url, { token, expected })
    await untilHeading(page, 'Migrations')
    await page.route(/assets\/schedules-/, (route) => route.fulfill({ status: 404 }))
    await page.getByRole('link', { name: 'Schedules' }).click()
    await page.getByText('If the server was upgraded, reload the page.').waitFor()
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await untilHeading(page, 'Webhooks')
    await page.getByRole('link', { name: 'Schedules' }).click()
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: 'Reload' }).click()
    await untilHeading(page, 'Schedules')
    await page.route(/./, (route) => route.abort())
    await page.getByRole('link', { name: 'New schedule' }).click()
    await untilHeading(page, 'No connection')
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await untilHeading(page, 'New schedule')
  },
)

test(
  'a reload while the server is down, and a sign-out that fails, show an error',
  needsChromium,
  async (t) => {
    const token = await story.service.token('alice')
    const page = await visit(t, story.service.url, { token, expected: /403/ })
    await untilHeading(page, 'Migrations')
    await page.route(/\/session$/, (route) => route.abort())
    await page.reload()
    await untilHeading(page, 'No connection')
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await untilHeading(page, 'Migrations')

    const account = page.getByRole('button', { name: 'Signed in as alice' })
    await page.route(/\/session\?all=true$/, (route) =>
      route.fulfill({ status: 403, json: { message: 'Resource not accessible' } }),
    )
    await account.click()
    await page.getByRole('menuitem', { name: 'Sign out all browsers' }).click()
    await untilHeading(page, 'Request refused')
    await page.getByRole('button', { name: 'Try again' }).click()
    await untilHeading(page, 'Migrations')

    await page.route(/\/session$/, (route) => route.abort())
    await account.click()
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
    await untilHeading(page, 'No connection')
    await page.getByText('You are not signed out yet.').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    // It signs out, rather than in with the session that is still open.
    await page.getByRole('button', { name: 'Try again' }).click()
    await untilHeading(page, 'Sign in to Godwit')
  },
)
