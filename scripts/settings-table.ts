import { readFile, writeFile } from 'node:fs/promises'
import {
  type CommandShape,
  commandShape,
  flattenCommands,
} from '../packages/cli/src/commands/command-shape.ts'
import { createProgram } from '../packages/cli/src/commands/program.ts'
import {
  flagOf,
  optionNames,
  optionOf,
  variableOf,
} from '../packages/cli/src/settings/setting-names.ts'

/** `node scripts/settings-table.ts` updates the tables in docs/SETTINGS.md: the settings, and those of each command. */
const PAGE = new URL('../docs/SETTINGS.md', import.meta.url)
const tableNamed = (name: string) => new RegExp(`(<!-- ${name} -->\n).*?(<!-- /${name} -->)`, 's')

/** Defaults that depend on the number of cores. */
const DEFAULTS_BY_CORES: Partial<Record<string, string>> = {
  concurrency: 'number of CPU cores',
  maxClones: '4 for each CPU core',
}

function settingsTable(): string {
  const rows = optionNames.map((name) => {
    const { argument, about, defaultValue, defaultDescription } = optionOf(name)
    const text = DEFAULTS_BY_CORES[name] ?? defaultValue ?? defaultDescription ?? ''
    const isLiteral = defaultValue !== undefined && !(name in DEFAULTS_BY_CORES)
    const shown = isLiteral ? `\`${text}\`` : text
    const flag = `\`${flagOf(name)} ${argument}\``.replaceAll('|', '\\|')
    return `| ${flag} | \`${variableOf(name)}\` | ${shown} | ${about} |`
  })
  return ['| flag | variable | default | |', '|---|---|---|---|', ...rows, ''].join('\n')
}

/** Returns a row for each list of settings, with the commands that take it. */
async function commandTable(): Promise<string> {
  const all = flattenCommands(commandShape(await createProgram()))
  const rows = Map.groupBy(
    all.filter(({ settings }) => settings.length > 0),
    ({ settings }) => describeSettings(settings.map(({ flag }) => flag)),
  )
  const cells = Array.from(rows, ([settings, commands]) => {
    const isInRow = (command: CommandShape) => commands.includes(command)
    const names = commands.map(({ path: [group = '', ...name] }) => {
      const others = all.filter(
        ({ path, commands }) =>
          path[0] === group && path.at(-1) !== 'help' && commands.length === 0,
      )
      return [group, ...(others.every(isInRow) ? [] : name)].join(' ')
    })
    return `| ${[...new Set(names)].map((name) => `\`${name}\``).join(', ')} | ${settings} |`
  })
  return ['| commands | settings |', '|---|---|', ...cells, ''].join('\n')
}

function describeSettings(flags: readonly string[]): string {
  const others = optionNames.map(flagOf).filter((flag) => !flags.includes(flag))
  const list = (names: readonly string[]) => names.map((flag) => `\`${flag}\``).join(', ')
  if (others.length === 0) return 'all'
  return others.length < 5 ? `all but ${list(others)}` : list(flags)
}

export async function settingsPageWithTable(): Promise<{ before: string; after: string }> {
  const before = await readFile(PAGE, 'utf8')
  let after = before
  for (const [name, table] of [
    ['settings', settingsTable()],
    ['commands', await commandTable()],
  ] as const)
    after = after.replace(tableNamed(name), (_, open, close) => open + table + close)
  return { before, after }
}

if (import.meta.main) await writeFile(PAGE, (await settingsPageWithTable()).after)
