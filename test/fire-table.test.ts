import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const FIRE = new URL('fire/', import.meta.url)
const PAGE = new URL('../docs/SECURITY.md', import.meta.url)

/** What tests name with `tried`; what is computed into a name counts as anything. */
function faultsTried(): string[] {
  const files = readdirSync(FIRE).filter((name) => name.endsWith('.test.ts'))
  return files.flatMap((name) => {
    const text = readFileSync(new URL(name, FIRE), 'utf8')
    const calls = [...text.matchAll(/\btried\(\s*t,\s*(['`])(.*?)\1/g)]
    assert.ok(calls.length > 0, `${name} tells nothing of what it tried`)
    return calls.map(([, , fault]) => fault!.replaceAll(/\$\{\w+\}/g, '…'))
  })
}

/** The first column of the table. */
function faultsTold(): string[] {
  const [, table = ''] = /<!-- fire:begin -->(.*)<!-- fire:end -->/s.exec(
    readFileSync(PAGE, 'utf8'),
  ) ?? ['']
  return [...table.matchAll(/^\| (.+?) \| [\d,]+ \|/gm)].map(([, fault]) => fault!)
}

test('the table of faults names what is tried, all of it and nothing else', () => {
  const same = (told: string, tried: string) =>
    new RegExp(`^${tried.split('…').map(RegExp.escape).join('\\d+')}$`).test(told)
  const tried = faultsTried()
  const told = faultsTold()
  assert.deepEqual(
    tried.filter((each) => !told.some((row) => same(row, each))),
    [],
    'tried, and not in the table: a whole run of `npm run test:fire` writes it',
  )
  assert.deepEqual(
    told.filter((row) => !tried.some((each) => same(row, each))),
    [],
    'in the table, and not tried',
  )
})
