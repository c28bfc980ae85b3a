import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { freePort } from './free-port.ts'

const SCREENSHOTS = new URL('../../var/screenshots/', import.meta.url).pathname

let port: Promise<number> | undefined

/**
 * Returns one port for all services whose pages are tested, one after the other: the browser caches files and
 * compiled code by origin, and loading them again takes longer than most tests.
 */
export function dashboardPort(): Promise<number> {
  port ??= freePort()
  return port
}

/** Signs in through the form. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: /^Signed in as/ }).waitFor()
}

/** Waits for the heading of the page. */
export async function untilHeading(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
}

/** Returns the section with that heading. */
export function section(page: Page, title: string | RegExp) {
  return page.getByRole('region', { name: title })
}

/** Makes timers of `ms` milliseconds fire after 200 ms, until the page is reloaded. */
export async function speedUpTimers(page: Page, ms: number): Promise<void> {
  await page.evaluate(`{
    const later = setTimeout
    globalThis.setTimeout = (act, ms) => later(act, ms === ${ms} ? 200 : ms)
  }`)
}

/** Whether screenshots are wanted (`GODWIT_TEST_SCREENSHOTS=1`): taking them takes longer than testing. */
const wantsScreenshots = process.env.GODWIT_TEST_SCREENSHOTS !== undefined

export async function saveScreenshot(page: Page, name: string): Promise<void> {
  if (!wantsScreenshots) return
  await mkdir(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true })
}
