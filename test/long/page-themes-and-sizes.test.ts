import { test } from 'node:test'
import { needsChromium } from '../support/browser.ts'
import { checkEveryPage, SIZES } from '../support/every-page.ts'

test(
  'every page is accessible and nothing is cut off, in both themes and three sizes',
  needsChromium,
  (t) => {
    const [wide, ...others] = Object.values(SIZES)
    return checkEveryPage(t, [
      { colors: 'light', ...wide!, axe: 'all' },
      ...others.map((size) => ({ colors: 'light', ...size, axe: 'all' }) as const),
      ...Object.values(SIZES).map((size) => ({ colors: 'dark', ...size, axe: 'style' }) as const),
    ])
  },
)
