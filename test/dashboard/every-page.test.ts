import { test } from 'node:test'
import { needsChromium } from '../support/browser.ts'
import { checkEveryPage, SIZES } from '../support/every-page.ts'

// In every other look: test/long/every-look.test.ts.
test('every page, wide and narrow', needsChromium, (t) =>
  checkEveryPage(t, [
    { colors: 'light', ...SIZES.wide, axe: true },
    { colors: 'dark', ...SIZES.narrow, axe: false },
  ]),
)
