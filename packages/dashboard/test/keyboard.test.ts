import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, untilHeading } from '../../../test/support/dashboard.ts'
import { sharedExportStory } from '../../../test/support/export-story.ts'

const MAX_TABS = 60

/** The accessible name of the focused element. */
const NAME_OF_FOCUS = `(() => {
  const at = document.activeElement
  const label = at.labels?.[0]?.innerText ?? ''
  return [at.getAttribute('aria-label'), label, at.innerText].find(Boolean)?.trim() ?? ''
})()`

/** Whether the focus is visible, as an outline or a ring. */
const IS_FOCUS_VISIBLE = `(() => {
  const seen = (at) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at)
    return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
  }
  const at = document.activeElement
  return seen(at) || seen(at.parentElement)
})()`

const UNTIL_IDLE = 'new Promise((resolve) => requestIdleCallback(() => resolve()))'

async function tabTo(page: Page, name: RegExp): Promise<void> {
  const passed: string[] = []
  for (let presses = 0; presses < MAX_TABS; presses += 1) {
    await page.keyboard.press('Tab')
    const focused = (await page.evaluate(NAME_OF_FOCUS)) as string
    passed.push(focused)
    if (!name.test(focused)) continue
    assert.ok(await page.evaluate(IS_FOCUS_VISIBLE), `the focus on ${focused} is not visible`)
    return
  }
  assert.fail(`${name} was not reached: ${passed.join(' | ')}`)
}

test('everything can be done with the keyboard', needsChromium, async (t) => {
  const story = await sharedExportStory(t, {
    port: await dashboardPort(),
    async repositories(host) {
      for (const name of ['atlas', 'birds'])
        await host.repository(`alice/${name}`, { files: { a: '1' } })
    },
  })
  const page = await visit(t, story.service.url)
  await untilHeading(page, 'Sign in to Godwit')
  await page.keyboard.type(await story.service.token('alice'))
  await page.keyboard.press('Enter')
  await untilHeading(page, 'Migrations')

  // The skip link passes the header.
  await page.reload()
  await untilHeading(page, 'Migrations')
  await tabTo(page, /^Skip to content$/)
  await page.keyboard.press('Enter')
  await tabTo(page, /^New migration$/)
  await page.keyboard.press('Enter')

  await untilHeading(page, 'New migration')
  await page.getByRole('checkbox', { name: 'alice/birds' }).waitFor()
  await tabTo(page, /^Find a repository$/)
  await tabTo(page, /^alice\/birds/)
  await page.keyboard.press('Space')
  await tabTo(page, /^More options$/)
  await page.keyboard.press('Enter')
  await tabTo(page, /^Exclude metadata$/)
  await page.keyboard.press('Space')
  await tabTo(page, /^Start with 1 repository$/)
  await page.keyboard.press('Enter')

  await untilHeading(page, 'Migration 1')
  await page.getByText('The archive is ready').waitFor()
  await tabTo(page, /^Copy as curl$/)
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Status' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Copy as curl' }).and(page.locator(':focus')).waitFor()
  await tabTo(page, /^Delete$/)
  await page.keyboard.press('Enter')
  // The focus is on the safe button; the dialog traps it, and returns it at the end.
  const keepButton = page.getByRole('button', { name: 'Keep archive' }).and(page.locator(':focus'))
  await keepButton.waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Delete' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Enter')
  await keepButton.waitFor()
  // The dialog focuses this button a second time when it has rendered again.
  await page.evaluate(UNTIL_IDLE)
  await tabTo(page, /^Delete archive$/)
  await page.keyboard.press('Enter')
  await page.getByText('The archive no longer exists').waitFor()
  await endVisit(page)
})
