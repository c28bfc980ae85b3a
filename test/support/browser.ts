import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Browser, ConsoleMessage, Page, Request } from 'playwright-core'
import { isChromiumInstalled, launchChromium } from './chromium.ts'
import { atProcessEnd } from './process-end.ts'
import { skipUnless } from './skip-unless.ts'
import { TIMEOUT_MS } from './wait-until.ts'

/** Options for tests in a browser. */
export const needsChromium = skipUnless(isChromiumInstalled, 'Chromium is not installed')

const VIEWPORT = { width: 1280, height: 860 }

let launched: Promise<Browser> | undefined

/** One for all tests of a process. */
function browser(): Promise<Browser> {
  if (!launched) {
    launched = launchChromium()
    atProcessEnd(async () => (await launched)?.close())
  }
  return launched
}

export interface VisitOptions {
  /** Signed in from the start, as if the tab had been reloaded. */
  token?: string
  /** A complaint of the browser's that the test brings about, such as an answer of 401. */
  expected?: RegExp
}

/** Tabs that nobody uses now, blank and without cookies: what they have compiled before is not compiled again. */
const blankTabs: Page[] = []
/** What ends the visit that has the tab. */
const ends = new WeakMap<Page, () => Promise<void>>()

/**
 * A tab on the page, and a browser profile that no other visit has until this one ends. After the test it fails on whatever
 * no page of ours may ever do: break the content security policy, ask another origin, put a token into an address or into
 * any storage, or throw. What is undone after a test is undone in the order in which it was made: where the service is the test's
 * own, `leave` comes before the end of the test, or the page is still there when its server goes.
 */
export async function visit(
  t: Pick<TestContext, 'after'>,
  url: string,
  options: VisitOptions = {},
): Promise<Page> {
  const { token, expected } = options
  const { origin } = new URL(url)
  const page = blankTabs.pop() ?? (await openTab())
  await begin(page, origin, token)
  const watching = watch(page, origin, expected)
  let ended: Promise<void> | undefined
  const end = () => {
    ended ??= endVisit(page, watching)
    return ended
  }
  ends.set(page, end)
  t.after(end)
  await page.goto(url)
  return page
}

/** Ends a visit, with all its checks, before its test ends: the next visit has its tab. */
export async function leave(page: Page): Promise<void> {
  await ends.get(page)?.()
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

/** Nothing is kept from a former visit; with a token, it is as if somebody had signed in with this browser before. */
async function begin(page: Page, origin: string, token: string | undefined): Promise<void> {
  // A blank page has the origin of the page before it, if there was one: storage can be had only there.
  if ((await page.evaluate('origin')) !== origin) await page.goto(`${origin}/godwit.svg`)
  await page.evaluate('localStorage.clear(), sessionStorage.clear()')
  if (token === undefined) return
  await page.context().request.post(`${origin}/session`, {
    data: { token },
    headers: { 'x-godwit-session': '1' },
  })
  await page.evaluate(`localStorage.setItem('godwit.signed-in', 'yes')`)
}

async function endVisit(page: Page, { faults, stop }: Watching): Promise<void> {
  try {
    const kept = (await page.evaluate(
      'JSON.stringify({ ...localStorage, ...sessionStorage, cookie: document.cookie })',
    )) as string
    if (/gwt_|godwit_session/.test(kept)) faults.push(`a token is in a storage: ${kept}`)
    stop()
    assert.deepEqual(faults, [])
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    // Asked for by the page itself, it stays in the process that has compiled our code.
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

interface Watching {
  faults: string[]
  stop(): void
}

function watch(page: Page, origin: string, expected: RegExp | undefined): Watching {
  const faults: string[] = []
  const onRequest = (request: Request) => {
    const address = request.url()
    if (new URL(address).origin !== origin) faults.push(`asked another origin: ${address}`)
    if (address.includes('gwt_')) faults.push(`a token is in an address: ${address}`)
  }
  const onError = (error: Error) => faults.push(`thrown: ${error.stack ?? error.message}`)
  // Violations of the policy are told here too.
  const onConsole = (message: ConsoleMessage) => {
    const text = message.text()
    const { url } = message.location()
    if (!['error', 'warning'].includes(message.type())) return
    // For the picture that every visit begins with the browser asks by itself; our pages name their icon.
    if (url === `${origin}/favicon.ico`) return
    // Servers are killed under pages here: that is not the page's doing.
    if (text.includes('net::ERR_')) return
    if (!expected?.test(text)) faults.push(`${message.type()}: ${text} (${url})`)
  }
  page.on('request', onRequest).on('pageerror', onError).on('console', onConsole)
  return {
    faults,
    stop: () =>
      void page.off('request', onRequest).off('pageerror', onError).off('console', onConsole),
  }
}
