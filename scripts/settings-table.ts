import { readFile, writeFile } from 'node:fs/promises'
import { flagOf, optionNames, optionOf, variableOf } from '../src/settings/setting-names.ts'

/** `node scripts/settings-table.ts` updates the table of settings in docs/SETTINGS.md. */
const PAGE = new URL('../docs/SETTINGS.md', import.meta.url)
const TABLE = /(<!-- settings -->\n).*?(<!-- \/settings -->)/s

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

export async function settingsPageWithTable(): Promise<{ before: string; after: string }> {
  const before = await readFile(PAGE, 'utf8')
  return {
    before,
    after: before.replace(TABLE, (_, open, close) => open + settingsTable() + close),
  }
}

if (import.meta.main) await writeFile(PAGE, (await settingsPageWithTable()).after)
