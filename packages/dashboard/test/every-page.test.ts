import { test } from 'node:test'
import { needsChromium } from '../../../test/support/browser.ts'
import { checkEveryPage, SIZES } from '../../../test/support/every-page.ts'

// Other sizes and themes: test/long/page-themes-and-sizes.test.ts.
test('every page is accessible and nothing is cut off', needsChromium, (t) =>
  checkEveryPage(t, [{ colors: 'light', ...SIZES.wide, axe: 'all' }]),
)
