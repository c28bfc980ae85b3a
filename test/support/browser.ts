import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { isChromiumInstalled, launchChromium } from './chromium.ts'
import { atProcessEnd } from './process-end.ts'
import { TIMEOUT_MS } from './wait-until.ts'

/** For tests in a browser: where there is none they are skipped by name, except in CI, where they fail. */
export const needsChromium: { skip: string | false } = {
  skip: !isChromiumInstalled && process.env.CI !== 'true' && 'Chromium is not installed',
}

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

/**
 * A tab of its own on the page. After the test it fails on whatever no page of ours may ever do: break the content security
 * policy, ask another origin, put a token into an address or into any storage, or throw.
 */
export async function visit(
  t: Pick<TestContext, 'after'>,
  url: string,
  options: VisitOptions = {},
): Promise<Page> {
  const { token, expected } = options
  const context = await (await browser()).newContext({
    viewport: { width: 1280, height: 860 },
    reducedMotion: 'reduce',
    acceptDownloads: true,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  const faults = watch(page, new URL(url).origin, expected)
  if (token !== undefined) await signedIn(page, new URL(url).origin, token)
  t.after(async () => {
    const kept = (await page.evaluate(
      'JSON.stringify({ ...localStorage, ...sessionStorage, cookie: document.cookie })',
    )) as string
    if (/gwt_|godwit_session/.test(kept)) faults.push(`a token is in a storage: ${kept}`)
    await context.close()
    assert.deepEqual(faults, [])
  })
  await page.goto(url)
  return page
}

/** As if somebody had signed in with this browser before. */
async function signedIn(page: Page, origin: string, token: string): Promise<void> {
  await page.context().request.post(`${origin}/session`, {
    data: { token },
    headers: { 'x-godwit-session': '1' },
  })
  await page.addInitScript({
    content: `if (location.protocol === 'http:') localStorage.setItem('godwit.signed-in', 'yes')`,
  })
}

function watch(page: Page, origin: string, expected: RegExp | undefined): string[] {
  const faults: string[] = []
  page.on('request', (request) => {
    const address = request.url()
    if (new URL(address).origin !== origin) faults.push(`asked another origin: ${address}`)
    if (address.includes('gwt_')) faults.push(`a token is in an address: ${address}`)
  })
  page.on('pageerror', (error) => faults.push(`thrown: ${error.stack ?? error.message}`))
  // Violations of the policy are told here too.
  page.on('console', (message) => {
    const text = message.text()
    if (!['error', 'warning'].includes(message.type())) return
    // Servers are killed under pages here: that is not the page's doing.
    if (text.includes('net::ERR_')) return
    if (!expected?.test(text)) faults.push(`${message.type()}: ${text}`)
  })
  return faults
}
