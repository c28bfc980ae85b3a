import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  type Browser,
  type BrowserContextOptions,
  type ConsoleMessage,
  chromium,
  type Page,
  type Request,
} from 'playwright-core'
import { atProcessEnd } from './process-end.ts'
import { showOnFailure } from './show-on-failure.ts'
import { skipUnless } from './skip-unless.ts'
import { TIMEOUT_MS } from './wait-until.ts'

const folders = (process.env.PATH ?? '').split(delimiter)

/** The headless shell is the same engine; a first visit takes a third of the CPU time. */
const program = ['chromium-headless-shell', 'chromium']
  .flatMap((name) => folders.map((folder) => join(folder, name)))
  .find(existsSync)

export const isChromiumInstalled = program !== undefined

/** Launches the installed Chromium; Playwright downloads nothing. */
export function launchChromium(): Promise<Browser> {
  if (!program) throw new Error('Chromium is not installed')
  // Root cannot use the sandbox, and tests open only our own pages.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: program, args, timeout: TIMEOUT_MS })
}

/** Options for tests in a browser. */
export const needsChromium = skipUnless(isChromiumInstalled, 'Chromium is not installed')

/** A page that does not respond fails its test, which must end. */
const SCREENSHOT_TIMEOUT_MS = 10_000
const SCREENSHOTS = new URL('../../var/failed-tests/', import.meta.url).pathname
const VIEWPORT = { width: 1280, height: 860 }

let launched: Promise<Browser> | undefined

/** Launches one browser for all tests of the process, because starting one takes longer than most tests. */
function browser(): Promise<Browser> {
  if (!launched) {
    launched = launchChromium()
    atProcessEnd(async () => (await launched)?.close())
  }
  return launched
}

export interface VisitOptions {
  /** Signs in before the page loads, as after a reload. */
  token?: string
  /** A browser error or warning that the test causes, such as a response of 401. */
  expected?: RegExp
}

/** Unused tabs without cookies. They are reused because their process has compiled the dashboard already. */
const blankTabs: Page[] = []
/** The function that ends the visit of each tab. */
const visitEnds = new WeakMap<Page, () => Promise<void>>()

/**
 * Opens the page in a tab with a clean browser profile. When the visit ends, it fails if the page violated the
 * content security policy, sent a request to another origin, put a token into an address or a storage, or threw
 * an error. `t.after` callbacks run in the order in which they were added: if the test has its own service, it
 * must call `leave` before it ends, or the page is still open when its server stops.
 */
export async function visit(
  t: Pick<TestContext, 'after'>,
  url: string,
  options: VisitOptions = {},
): Promise<Page> {
  const { token, expected } = options
  const { origin } = new URL(url)
  const page = blankTabs.pop() ?? (await openTab())
  await resetTab(page, origin, token)
  const pageWatch = watchPage(page, origin, expected)
  const hidePage = showOnFailure('the page', ({ fileName }) =>
    describePage(page, pageWatch, join(SCREENSHOTS, `${fileName}.png`)),
  )
  let ended: Promise<void> | undefined
  const end = () => {
    hidePage()
    ended ??= checkAndFreeTab(page, pageWatch)
    return ended
  }
  visitEnds.set(page, end)
  t.after(end)
  await page.goto(url)
  return page
}

/** Ends a visit, with all its checks, before the end of the test, and frees its tab. */
export async function endVisit(page: Page): Promise<void> {
  await visitEnds.get(page)?.()
}

/** Opens a tab with a clean browser profile, without the checks of `visit`, and closes it after the test. */
export async function openPlainTab(
  t: Pick<TestContext, 'after'>,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await (await browser()).newContext({ timezoneId: 'UTC', ...options })
  t.after(() => context.close())
  return context.newPage()
}

async function openTab(): Promise<Page> {
  const context = await (await browser()).newContext({
    viewport: VIEWPORT,
    reducedMotion: 'reduce',
    acceptDownloads: true,
    timezoneId: 'UTC',
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  return context.newPage()
}

/** Removes everything that an earlier visit stored; with a token, signs the browser in. */
async function resetTab(page: Page, origin: string, token: string | undefined): Promise<void> {
  // A blank page has the origin of the page before it, and storage is accessible only from its own origin.
  if ((await page.evaluate('origin')) !== origin) await page.goto(`${origin}/godwit.svg`)
  await page.evaluate('localStorage.clear(), sessionStorage.clear()')
  if (token === undefined) return
  await page.context().request.post(`${origin}/session`, {
    data: { token },
    headers: { 'x-godwit-session': '1' },
  })
  await page.evaluate(`localStorage.setItem('godwit.signed-in', 'somebody')`)
}

async function checkAndFreeTab(page: Page, { problems, stop }: PageWatch): Promise<void> {
  try {
    const stored = (await page.evaluate(
      'JSON.stringify({ ...localStorage, ...sessionStorage, cookie: document.cookie })',
    )) as string
    if (/gwt_|godwit_session/.test(stored)) problems.push(`a token is in a storage: ${stored}`)
    stop()
    assert.deepEqual(problems, [])
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    // A navigation by the page itself keeps the renderer process, which has compiled the dashboard.
    await page.evaluate(`void setTimeout(() => location.replace('about:blank'))`)
    await page.waitForURL('about:blank')
    await page.context().clearCookies()
    await page.context().clearPermissions()
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize(VIEWPORT)
  } catch (error) {
    await page.context().close()
    throw error
  }
  blankTabs.push(page)
}

/** Saves a screenshot and returns its path, the address of the page and its console. */
async function describePage(page: Page, { log }: PageWatch, path: string): Promise<string> {
  const console = log.map((line) => `  ${line}`).join('\n')
  const text = `at ${page.url()}, console:\n${console || '  (nothing)'}`
  try {
    await page.screenshot({ path, timeout: SCREENSHOT_TIMEOUT_MS })
  } catch (error) {
    return `${text}\nno screenshot: ${(error as Error).message}`
  }
  return `${text}\nscreenshot: ${path}`
}

interface PageWatch {
  problems: string[]
  /** Everything in the console, and the errors that the page threw. */
  log: string[]
  stop(): void
}

function watchPage(page: Page, origin: string, expected: RegExp | undefined): PageWatch {
  const problems: string[] = []
  const log: string[] = []
  const onRequest = (request: Request) => {
    const address = request.url()
    if (new URL(address).origin !== origin)
      problems.push(`sent a request to another origin: ${address}`)
    if (address.includes('gwt_')) problems.push(`a token is in an address: ${address}`)
  }
  const onError = (error: Error) => {
    const text = `threw an error: ${error.stack ?? error.message}`
    problems.push(text)
    log.push(text)
  }
  // Violations of the content security policy are logged here too.
  const onConsole = (message: ConsoleMessage) => {
    const text = message.text()
    const { url } = message.location()
    log.push(`${message.type()}: ${text} (${url})`)
    if (!['error', 'warning'].includes(message.type())) return
    // The browser requests favicon.ico for the image that every visit starts with; our pages name their own icon.
    if (url === `${origin}/favicon.ico`) return
    // Tests kill servers while a page is open, which is not an error of the page.
    if (text.includes('net::ERR_')) return
    if (!expected?.test(text)) problems.push(`${message.type()}: ${text} (${url})`)
  }
  page.on('request', onRequest).on('pageerror', onError).on('console', onConsole)
  return {
    problems,
    log,
    stop: () =>
      void page.off('request', onRequest).off('pageerror', onError).off('console', onConsole),
  }
}
