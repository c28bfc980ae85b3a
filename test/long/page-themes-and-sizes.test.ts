import { test } from 'node:test'
import { needsChromium } from '../support/browser.ts'
import { checkEveryPage, SIZES } from '../support/every-page.ts'

// packages/dashboard/test/every-page.test.ts checks the wide pages in the light theme.
test(
  'every page is accessible and nothing is cut off, in both themes and three sizes',
  needsChromium,
  (t) =>
    checkEveryPage(t, [
      { colors: 'light', ...SIZES.middling, axe: 'all' },
      { colors: 'light', ...SIZES.narrow, axe: 'all' },
      { colors: 'dark', ...SIZES.narrow, axe: 'style' },
      { colors: 'dark', ...SIZES.middling, axe: 'style' },
      { colors: 'dark', ...SIZES.wide, axe: 'style' },
    ]),
)
