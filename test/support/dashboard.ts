import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { freePort } from './free-port.ts'

const SCREENSHOTS = new URL('../../var/screenshots/', import.meta.url).pathname

let port: Promise<number> | undefined

/**
 * Where services listen whose pages are looked at, one after the other: what a browser has fetched and compiled it keeps for
 * one origin, and to do it anew takes longer than most tests.
 */
export function pagesPort(): Promise<number> {
  port ??= freePort()
  return port
}

/** Signs in through the form, as people do. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: /^Signed in as/ }).waitFor()
}

/** The heading that says which page this is. */
export async function arrived(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
}

/** The part of the page with that heading. */
export function part(page: Page, title: string | RegExp) {
  return page.getByRole('region', { name: title })
}

/** What the page would look at again after so long, it looks at after a moment: until it is loaded anew. */
export async function hurryPolls(page: Page, ms: number): Promise<void> {
  await page.evaluate(`{
    const later = setTimeout
    globalThis.setTimeout = (act, ms) => later(act, ms === ${ms} ? 200 : ms)
  }`)
}

/** Where people ask with `GODWIT_TEST_SCREENSHOTS=1` to see every page: drawing takes longer than testing. */
export const forPeople = process.env.GODWIT_TEST_SCREENSHOTS !== undefined

export async function keepScreenshot(page: Page, name: string): Promise<void> {
  if (!forPeople) return
  await mkdir(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true })
}
