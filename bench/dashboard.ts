import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { isChromiumInstalled, launchChromium } from '../test/support/browser.ts'
import { makeCopies } from './copies.ts'
import { OWNER } from './corpus.ts'
import { inEmptyDirectory, median, spread } from './measure.ts'
import { atMost, type Section } from './section.ts'
import { type RunningService, startService } from './service.ts'

const DIST = new URL('../packages/dashboard/dist', import.meta.url).pathname
const REPOSITORIES = 1000
const MAX_KILOBYTES = 400
const MAX_SECONDS = 1

/** Measures the dashboard in a real browser, served by the service on this machine. */
export async function benchDashboard({ rounds }: { rounds: number }): Promise<Section | undefined> {
  if (!isChromiumInstalled) {
    console.error('Chromium is not installed')
    return undefined
  }
  return inEmptyDirectory(async (directory) => {
    const repositories = join(directory, 'repositories')
    await makeCopies(repositories, REPOSITORIES)
    const data = join(directory, 'data')
    const godwit = await startService({ repositories, data, login: OWNER })
    const browser = await launchChromium()
    try {
      // The first run includes the start of the browser and is discarded.
      await load(browser, godwit)
      const loads = []
      for (let round = 0; round < rounds; round += 1) loads.push(await load(browser, godwit))
      return await report(loads, await searches(browser, godwit, rounds))
    } finally {
      await browser.close()
      await godwit.stop()
    }
  })
}

interface Load {
  /** The files that a first visit loads until the page is usable. */
  paths: string[]
  /** Seconds from the start of the navigation, with an empty cache. */
  signIn: number
  list: number
}

async function report(loads: readonly Load[], searched: number[]): Promise<Section> {
  const { paths } = loads[0]!
  const kilobytes = (await gzippedBytes(paths)) / 1000
  const signIn = loads.map((each) => each.signIn)
  const list = loads.map((each) => each.list)
  const row = (name: string, values: number[]) => {
    const shown = (value: number) => value.toFixed(2)
    return [name, shown(median(values)), spread(values, shown)]
  }
  return {
    title: 'The dashboard',
    notes: [
      'headless Chromium on the same machine, with an empty cache',
      'until the page is visible and can handle a key press; for the search, until its result is visible',
      `a first visit loads ${paths.length} files, ${kilobytes.toFixed(0)} kB gzipped`,
    ],
    tables: [
      {
        head: ['', 'seconds', 'min – max'],
        rows: [
          row('signing in', signIn),
          row('the list of migrations', list),
          row(`a search among ${REPOSITORIES} repositories`, searched),
        ],
      },
    ],
    targets: [
      atMost('first load, gzipped', kilobytes, MAX_KILOBYTES, 'kB'),
      atMost('interactive: signing in', median(signIn), MAX_SECONDS, 's'),
      atMost('interactive: the list', median(list), MAX_SECONDS, 's'),
    ],
    plots: [],
  }
}

/** Measures a first visit, and the first visit of a signed-in user. */
async function load(browser: Browser, { url, token }: RunningService): Promise<Load> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const paths: string[] = []
  page.on('request', (request) => paths.push(new URL(request.url()).pathname))
  await page.goto(url)
  const signIn = await secondsUntil(page, 'input[name=token]')
  await context.close()

  const another = await browser.newContext()
  const signedIn = await another.newPage()
  await openSession(another, url, token)
  await signedIn.goto(url)
  const list = await secondsUntil(signedIn, 'h1')
  await another.close()
  return { paths: paths.filter((path) => path === '/' || path.includes('.')), signIn, list }
}

/** Signs the browser in, by the session cookie. */
async function openSession(context: BrowserContext, url: string, token: string): Promise<void> {
  const headers = { 'x-godwit-session': '1' }
  const response = await context.request.post(`${url}/session`, { data: { token }, headers })
  if (!response.ok()) throw new Error(`signing in failed: ${response.status()}`)
}

/** Waits until the element is visible and the page can handle a key press. */
async function secondsUntil(page: Page, selector: string): Promise<number> {
  await page.waitForSelector(selector)
  const idleAt = `new Promise((done) => requestIdleCallback(() => done(performance.now())))`
  return ((await page.evaluate(idleAt)) as number) / 1000
}

async function searches(
  browser: Browser,
  { url, token }: RunningService,
  rounds: number,
): Promise<number[]> {
  const page = await browser.newPage()
  await openSession(page.context(), url, token)
  await page.goto(`${url}/#/new`)
  await page.getByRole('checkbox', { name: `${OWNER}/copy-0` }).waitFor()
  const waits = []
  for (let round = 1; round <= rounds; round += 1) {
    const wanted = `copy-${Math.floor((REPOSITORIES * round) / (rounds + 1))}`
    const start = performance.now()
    await page.getByRole('searchbox').fill(wanted)
    await page
      .getByRole('checkbox', { name: `${OWNER}/${wanted}` })
      .first()
      .waitFor()
    waits.push((performance.now() - start) / 1000)
  }
  await page.close()
  return waits
}

async function gzippedBytes(paths: readonly string[]): Promise<number> {
  const sizes = paths.map(async (path) => {
    const file = join(DIST, path === '/' ? 'index.html' : path)
    const { size } = await stat(`${file}.gz`).catch(() => stat(file))
    return size
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
