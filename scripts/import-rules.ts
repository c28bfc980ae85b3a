import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { FOLDERS, type Folder, MODULES } from './import-table.ts'

/** A source file: its path from the root of the checkout, and its text. */
export type Module = readonly [path: string, text: string]

export interface Manifest {
  name: string
  exports?: Readonly<Record<string, string>>
  dependencies?: Readonly<Record<string, string>>
  devDependencies?: Readonly<Record<string, string>>
}

export interface Rules {
  /** The package.json of each folder of a package, such as `packages/git`. */
  manifests: Readonly<Record<string, Manifest>>
  folders: Readonly<Record<string, Folder>>
  modules: Readonly<Record<string, readonly string[]>>
}

interface Import {
  from: string
  /** As the import says it. */
  name: string
  /** The file of the checkout that is imported, or undefined for a package of others or a module of Node. */
  file: string | undefined
  /** Whether only types are imported. */
  isType: boolean
}

const IMPORT =
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

/** Tests may import everything, also what is not an entry of a package. */
const TEST_FILE = /\.(test|contract)\.ts$|^packages\/[^/]+\/test\//

const isProduct = (path: string) => packageOf(path) !== undefined && !TEST_FILE.test(path)

/** Returns a message for every import that is not allowed, and for every import cycle. */
export function importErrors(modules: Iterable<Module>, rules: Rules): string[] {
  const imports = [...modules].flatMap((module) => importsOf(module, rules))
  const errors = imports
    .filter(({ from }) => isProduct(from))
    .flatMap((each) => {
      const error = importError(each, rules)
      return error === undefined ? [] : [`${each.from} imports ${each.name}: ${error}`]
    })
  return [...errors, ...cycles(imports).map((cycle) => `import cycle: ${cycle.join(' → ')}`)]
}

/** Returns a message for every entry of the table and of a package.json that no import needs. */
export function unusedEntries(modules: Iterable<Module>, rules: Rules): string[] {
  const used = new Set<string>()
  const imports = [...modules].flatMap((module) => importsOf(module, rules))
  for (const { from, file } of imports) {
    if (file === undefined || !isProduct(from)) continue
    if (packageOf(from) !== packageOf(file)) used.add(file)
    const [folder, target] = [folderOf(from, rules), folderOf(file, rules)]
    if (folder === target) continue
    used.add(`${folder?.pattern} may import ${target?.pattern}`)
    used.add(`other folders may import ${file}`)
  }
  const allowed = Object.entries(rules.folders).flatMap(([folder, { imports, entries = [] }]) => [
    ...imports.map((to) => `${folder} may import ${to}`),
    ...entries.map((file) => `other folders may import ${join(folder, file)}`),
  ])
  const exported = Object.entries(rules.manifests).flatMap(([folder, { exports = {} }]) =>
    Object.entries(exports)
      // The first entry is for everybody, and an entry with * is for every file.
      .filter(([entry, file]) => entry !== '.' && !file.includes('*'))
      .map(([, file]) => join(folder, file)),
  )
  return [
    ...allowed.filter((entry) => !used.has(entry)).map((e) => `import-table.ts: unused: ${e}`),
    ...exported.filter((file) => !used.has(file)).map((file) => `unused in "exports": ${file}`),
  ]
}

/** Returns a message for each dependency of the published package that differs from those of the packages in it. */
export function publishedErrors(root: Manifest, { manifests }: Rules): string[] {
  const listed = new Map(Object.entries(root.dependencies ?? {}))
  const needed = new Map(
    Object.values(manifests)
      .flatMap(({ dependencies = {} }) => Object.entries(dependencies))
      .filter(([name]) => !name.startsWith('@godwit/')),
  )
  return [...new Set([...needed.keys(), ...listed.keys()])]
    .filter((name) => needed.get(name) !== listed.get(name))
    .map((name) => {
      const [here, there] = [listed, needed].map((versions) => versions.get(name) ?? 'absent')
      return `package.json: ${name} is ${here}, but ${there} in packages/*/package.json`
    })
}

function importsOf([from, text]: Module, { manifests }: Rules): Import[] {
  const found = Map.groupBy(
    text.matchAll(IMPORT),
    ([, used, alone, later]) => (used ?? alone ?? later)!,
  )
  return [...found].map(([name, statements]) => ({
    from,
    name,
    file: name.startsWith('.') ? join(dirname(from), name) : entryFile(name, manifests),
    isType: statements.every(([statement]) => /^\s*(import|export)\s+type\b/.test(statement)),
  }))
}

/** Returns the file of an entry of one of our packages. */
function entryFile(name: string, manifests: Rules['manifests']): string | undefined {
  const [, own, entry = ''] = /^(@[^/]+\/[^/]+)(\/.+)?$/.exec(name) ?? []
  const found = Object.entries(manifests).find(([, manifest]) => manifest.name === own)
  if (!found) return undefined
  const [folder, { exports = {} }] = found
  const file = exports[`.${entry}`] ?? exports['./*']?.replace('*', entry.slice(1))
  return join(folder, file ?? `(no entry ${entry})`)
}

const packageOf = (path: string): string | undefined => /^packages\/[^/]+(?=\/)/.exec(path)?.[0]

/**
 * Returns the longest folder (or single file) of the table that contains the path, and its pattern there. A pattern that ends in `*` stands for each
 * folder at this place.
 */
function folderOf(
  path: string,
  { folders }: Rules,
): { folder: string; pattern: string } | undefined {
  const found = Object.keys(folders).flatMap((pattern) => {
    const end = pattern.endsWith('*') ? '(?=/)' : '(?=/|$)'
    const expression = `^${RegExp.escape(pattern).replace('\\*', '[^/]+')}${end}`
    const folder = new RegExp(expression).exec(path)?.[0]
    return folder === undefined ? [] : [{ folder, pattern }]
  })
  return found.toSorted((a, b) => b.folder.length - a.folder.length)[0]
}

function importError(imported: Import, rules: Rules): string | undefined {
  const { from, name, file } = imported
  const own = packageOf(from)!
  if (file !== undefined && packageOf(file) === own) return folderError(from, file, rules)
  if (name.startsWith('.')) return 'a file outside of the package; import an entry by its name'
  return moduleError(own, imported, rules)
}

function folderError(from: string, file: string, rules: Rules): string | undefined {
  const [own, target] = [folderOf(from, rules), folderOf(file, rules)]
  if (own === undefined || target === undefined || own.folder === target.folder) return undefined
  const { imports } = rules.folders[own.pattern]!
  if (!imports.includes(target.pattern))
    return `${own.folder} may import ${imports.join(', ') || 'no other folder'}`
  const { entries } = rules.folders[target.pattern]!
  if (!entries || entries.some((entry) => join(target.folder, entry) === file)) return undefined
  return `the entry files of ${target.folder} are ${entries.join(', ')}`
}

function moduleError(
  own: string,
  { from, name, isType }: Import,
  { manifests, modules }: Rules,
): string | undefined {
  const known = Object.keys(modules).find((each) => name === each || name.startsWith(`${each}/`))
  const places = known === undefined ? undefined : modules[known]!
  if (places && !places.some((place) => from.startsWith(`${place}/`)))
    return `only ${places.join(', ')} may import ${known}`
  if (name.startsWith('node:'))
    return own === 'packages/dashboard' ? 'the dashboard runs in a browser' : undefined
  const [dependency = ''] = /^(@[^/]+\/)?[^/]+/.exec(name) ?? []
  const { dependencies = {}, devDependencies = {} } = manifests[own]!
  if (dependency in dependencies) return undefined
  // Types are not needed at run time, and the pages are built.
  const isOnlyBuilt = isType || own === 'packages/dashboard'
  if (isOnlyBuilt && dependency in devDependencies) return undefined
  return `${own}/package.json does not name ${dependency}`
}

/** Returns one cycle for each group of modules that import each other. */
function cycles(imports: readonly Import[]): string[][] {
  const targets = Map.groupBy(imports, ({ from }) => from)
  const found: string[][] = []
  const done = new Set<string>()
  const stack: string[] = []
  function visit(path: string): void {
    const at = stack.indexOf(path)
    if (at !== -1) found.push([...stack.slice(at), path])
    if (at !== -1 || done.has(path)) return
    stack.push(path)
    for (const { file } of targets.get(path) ?? []) if (file !== undefined) visit(file)
    stack.pop()
    done.add(path)
  }
  for (const path of targets.keys()) visit(path)
  return found
}

if (import.meta.main) {
  const read = (path: string) => readFileSync(path, 'utf8')
  const manifestOf = (folder: string): Manifest => JSON.parse(read(join(folder, 'package.json')))
  const folders = globSync('packages/*').map((folder) => [folder, manifestOf(folder)] as const)
  const rules = { manifests: Object.fromEntries(folders), folders: FOLDERS, modules: MODULES }
  const paths = globSync('{packages/*/{src,test},test,bench,scripts}/**/*.{ts,tsx}')
  const modules = paths.map((path): Module => [path, read(path)])
  const errors = [
    ...importErrors(modules, rules),
    ...unusedEntries(modules, rules),
    ...publishedErrors(manifestOf('.'), rules),
  ]
  for (const error of errors) console.error(error)
  if (errors.length > 0) process.exitCode = 1
}
