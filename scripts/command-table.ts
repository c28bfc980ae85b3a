import { readFile, writeFile } from 'node:fs/promises'
import { commandShape, flattenCommands } from '../packages/cli/src/commands/command-shape.ts'
import { createProgram } from '../packages/cli/src/commands/program.ts'

/** `node scripts/command-table.ts` updates the table of commands in docs/COMMANDS.md. */
const PAGE = new URL('../docs/COMMANDS.md', import.meta.url)
const TABLE = /(<!-- commands -->\n).*?(<!-- \/commands -->)/s

async function commandTable(): Promise<string> {
  const all = flattenCommands(commandShape(await createProgram()))
  const rows = all
    .filter(({ path, commands }) => commands.length === 0 && path.at(-1) !== 'help')
    .map(({ usage, about, options }) => {
      const hasJson = options.some(({ flag }) => flag === '--json')
      const cells = [`\`${usage.replace(' [options]', '')}\``, about, hasJson ? 'yes' : '']
      return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
    })
  return ['| command | what it does | `--json` |\n', '|---|---|---|\n', ...rows].join('')
}

export async function pageWithTable(): Promise<{ before: string; after: string }> {
  const before = await readFile(PAGE, 'utf8')
  const table = await commandTable()
  return { before, after: before.replace(TABLE, (_, open, close) => open + table + close) }
}

if (import.meta.main) await writeFile(PAGE, (await pageWithTable()).after)
