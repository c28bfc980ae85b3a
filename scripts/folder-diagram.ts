import { readFile, writeFile } from 'node:fs/promises'
import { FOLDERS } from './import-table.ts'

/** `node scripts/folder-diagram.ts` updates the diagram of folders in docs/ARCHITECTURE.md. */
const ARCHITECTURE = new URL('../docs/ARCHITECTURE.md', import.meta.url)
const DIAGRAM = /(<!-- (folders) -->\n).*?(<!-- \/\2 -->)/s

/** Every folder imports it: its arrows would hide the others. */
const LEFT_OUT = 'src/lib'

/** Draws only arrows that do not follow from others: a folder may import what its arrows lead to. */
function diagram(): string {
  const folders = Object.keys(FOLDERS).filter(
    (folder) => folder.startsWith('src') && folder !== LEFT_OUT,
  )
  const arrows = folders
    .map((folder) => [folder, directImports(folder).filter((to) => folders.includes(to))] as const)
    .filter(([, targets]) => targets.length > 0)
    .map(([folder, targets]) => `  ${label(folder)} --> ${targets.map(label).join(' & ')}\n`)
  return ['```mermaid\n', 'flowchart TD\n', ...arrows, '```\n'].join('')
}

function directImports(folder: string): string[] {
  const imports = FOLDERS[folder]?.imports ?? []
  return imports.filter((to) => !imports.some((other) => reaches(other, to)))
}

function reaches(from: string, to: string): boolean {
  return (FOLDERS[from]?.imports ?? []).some((next) => next === to || reaches(next, to))
}

const label = (folder: string): string => folder.replace(/^src\//, '').replace(/\.ts$/, '')

export async function architectureWithDiagram(): Promise<{ before: string; after: string }> {
  const before = await readFile(ARCHITECTURE, 'utf8')
  return {
    before,
    after: before.replace(DIAGRAM, (_, open, __, close) => open + diagram() + close),
  }
}

if (import.meta.main) await writeFile(ARCHITECTURE, (await architectureWithDiagram()).after)
