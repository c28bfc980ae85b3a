import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { FOLDERS, type Folder, PACKAGES } from './import-table.ts'

/** A source file: its path from the root of the checkout, and its text. */
export type Module = readonly [path: string, text: string]

export interface ImportTable {
  folders: Readonly<Record<string, Folder>>
  packages: Readonly<Record<string, readonly string[]>>
}

const IMPORT =
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

/** Tests beside the code, and helpers that only such tests use, may import everything. */
const TEST_FILE = /^src\/.*(\.(test|contract)|\/test-[a-z]+|-test-[a-z]+)\.ts$/

/** Returns a message for every import that the table does not allow and for every import cycle. */
export function importErrors(modules: Iterable<Module>, table: ImportTable): string[] {
  const imports = new Map([...modules].map(([path, text]) => [path, importsOf(path, text)]))
  const errors: string[] = []
  for (const [path, targets] of imports) {
    const folder = TEST_FILE.test(path) ? undefined : folderOf(path, table)
    if (folder === undefined) continue
    for (const target of targets) {
      const error = isPackage(target)
        ? packageError(folder, target, table)
        : folderError(path, target, table)
      if (error) errors.push(`${path} imports ${target}: ${error}`)
    }
  }
  return [...errors, ...cycles(imports).map((cycle) => `import cycle: ${cycle.join(' → ')}`)]
}

/** Returns a message for every entry of the table that no import needs. */
export function unusedEntries(modules: Iterable<Module>, table: ImportTable): string[] {
  const used = new Set<string>()
  for (const [path, text] of modules) {
    const from = TEST_FILE.test(path) ? undefined : folderOf(path, table)
    if (from === undefined) continue
    for (const target of importsOf(path, text)) {
      const to = importedFolder(target, table)
      if (to === from) continue
      used.add(`${from} may import ${to}`)
      used.add(`other folders may import ${target}`)
    }
  }
  return Object.entries(table.folders)
    .flatMap(([folder, { imports, entries = [] }]) => [
      ...imports.map((to) => `${folder} may import ${to}`),
      ...entries.map((file) => `other folders may import ${folder}/${file}`),
    ])
    .filter((entry) => !used.has(entry))
    .map((entry) => `${entry}: unused entry in scripts/import-table.ts`)
}

function importsOf(path: string, text: string): string[] {
  const targets = text.matchAll(IMPORT).map(([, from, alone, later]) => (from ?? alone ?? later)!)
  return [...new Set(targets.map((to) => (to.startsWith('.') ? join(dirname(path), to) : to)))].map(
    (to) => (isPackage(to) ? to : normalize(to)),
  )
}

const isPackage = (target: string): boolean =>
  !/^(src|web|test|bench|scripts|schema|checkout)\//.test(target)

const isIn = (path: string, folder: string): boolean => `${path}/`.startsWith(`${folder}/`)

/** Returns the longest folder of the table that contains the path. */
function folderOf(path: string, { folders }: ImportTable): string | undefined {
  return Object.keys(folders)
    .filter((folder) => isIn(path, folder))
    .toSorted((a, b) => b.length - a.length)[0]
}

const importedFolder = (target: string, table: ImportTable): string =>
  folderOf(target, table) ?? target.split('/', 1)[0]!

function folderError(path: string, target: string, table: ImportTable): string | undefined {
  const from = folderOf(path, table)!
  const to = importedFolder(target, table)
  const { imports, hasSeparateFolders } = table.folders[from]!
  if (from === to) {
    const isSeparate = hasSeparateFolders && subfolderOf(path, from) !== subfolderOf(target, from)
    return isSeparate ? `the folders in ${from} do not import each other` : undefined
  }
  if (!imports.includes(to)) return `${from} may import ${imports.join(', ') || 'no other folder'}`
  for (const [folder, { entries }] of Object.entries(table.folders)) {
    if (!entries || !isIn(target, folder) || isIn(path, folder)) continue
    if (entries.includes(target.slice(folder.length + 1))) continue
    return `the entry files of ${folder} are ${entries.join(', ')}`
  }
  return undefined
}

/** Returns the name of the folder directly below `folder` that contains the path. */
const subfolderOf = (path: string, folder: string): string =>
  path.slice(folder.length + 1).split('/', 1)[0]!

function packageError(from: string, name: string, { packages }: ImportTable): string | undefined {
  if (from === 'web/src' && name.startsWith('node:')) return 'the dashboard runs in a browser'
  const known = Object.keys(packages).find((each) => name === each || name.startsWith(`${each}/`))
  const folders = known === undefined ? undefined : packages[known]!
  if (!folders || folders.some((each) => isIn(from, each))) return undefined
  return `only ${folders.join(', ')} may import ${known}`
}

/** Returns one cycle for each group of modules that import each other. */
function cycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  const done = new Set<string>()
  const stack: string[] = []
  function visit(path: string): void {
    const at = stack.indexOf(path)
    if (at !== -1) found.push([...stack.slice(at), path])
    if (at !== -1 || done.has(path)) return
    stack.push(path)
    for (const next of imports.get(path) ?? []) visit(next)
    stack.pop()
    done.add(path)
  }
  for (const path of imports.keys()) visit(path)
  return found
}

if (import.meta.main) {
  const modules: Module[] = []
  for await (const path of glob('{src,web/src,test,bench,scripts,schema}/**/*.{ts,tsx}'))
    modules.push([path, readFileSync(path, 'utf8')])
  const table = { folders: FOLDERS, packages: PACKAGES }
  const errors = [...importErrors(modules, table), ...unusedEntries(modules, table)]
  for (const error of errors) console.error(error)
  if (errors.length > 0) process.exitCode = 1
}
