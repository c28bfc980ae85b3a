import { readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { FaultReport } from '../test/support/fire.ts'

/** Called by scripts/test-fire: prints the collected results as a table, or writes the table to docs/SECURITY.md. */
const PAGE = new URL('../docs/SECURITY.md', import.meta.url)
const TABLE = /(<!-- fire:begin -->\n).*?(<!-- fire:end -->)/s

const { values } = parseArgs({
  options: { print: { type: 'boolean' }, minutes: { type: 'string', default: '?' } },
})
const lines = (await readFile(process.env.GODWIT_TEST_FIRE!, 'utf8')).split('\n').filter(Boolean)
const table = tableOf(lines.map((line) => JSON.parse(line) as FaultReport))

if (values.print) console.log(table)
else {
  const page = await readFile(PAGE, 'utf8')
  if (!TABLE.test(page)) throw new Error('docs/SECURITY.md has no markers for the table')
  const written = page.replace(TABLE, (_, open, close) => `${open}${heading()}${table}${close}`)
  await writeFile(PAGE, written)
}

function heading(): string {
  const day = new Date().toISOString().slice(0, 10)
  const run = `${day}, ${cpus().length} cores, ${values.minutes} minutes`
  return `Last run: ${run}, seed ${process.env.GODWIT_TEST_SEED}; nothing failed.\n\n`
}

function tableOf(rows: readonly FaultReport[]): string {
  const times = new Map<string, number>()
  for (const { fault, outcome, times: more } of rows) {
    const key = `${fault} | ${outcome}`
    times.set(key, (times.get(key) ?? 0) + more)
  }
  const shown = [...times].sort().map(([key, count]) => {
    const [fault, outcome] = key.split(' | ')
    return `| ${fault} | ${count.toLocaleString('en')} | ${outcome} |`
  })
  return ['| fault | count | outcome |', '|---|---:|---|', ...shown, ''].join('\n')
}
