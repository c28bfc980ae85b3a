import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { PACKAGES, ROOMS } from './import-table.ts'

/** Path from the top of the checkout, and text. */
export type Module = readonly [path: string, text: string]

const IMPORT =
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

/** A test beside the code, or what only such tests use. */
const OF_TESTS = /^src\/.*(\.(test|contract)|\/test-[a-z]+|-test-[a-z]+)\.ts$/

/** Every import that the table does not allow and every circle, in words; none when the house is in order. */
export function importFaults(modules: Iterable<Module>): string[] {
  const imports = new Map([...modules].map(([path, text]) => [path, importsOf(path, text)]))
  const faults: string[] = []
  for (const [path, targets] of imports) {
    const room = OF_TESTS.test(path) ? undefined : roomOf(path)
    if (room === undefined) continue
    for (const target of targets) {
      const fault = isPackage(target) ? packageFault(room, target) : roomFault(room, target)
      if (fault) faults.push(`${path} imports ${target}: ${fault}`)
    }
  }
  return [...faults, ...circles(imports).map((circle) => `a circle: ${circle.join(' → ')}`)]
}

/** What the table allows and no import needs: it would say more than is true. */
export function unusedAllowances(modules: Iterable<Module>): string[] {
  const used = new Set<string>()
  for (const [path, text] of modules) {
    const from = OF_TESTS.test(path) ? undefined : roomOf(path)
    if (from === undefined) continue
    for (const target of importsOf(path, text)) {
      const to = roomImported(target)
      if (to === from) continue
      used.add(`${from} may use ${to}`)
      used.add(`others may import ${target}`)
    }
  }
  return Object.entries(ROOMS)
    .flatMap(([room, { uses, door = [] }]) => [
      ...uses.map((to) => `${room} may use ${to}`),
      ...door.map((file) => `others may import ${room}/${file}`),
    ])
    .filter((allowance) => !used.has(allowance))
    .map((allowance) => `${allowance}, and nobody does`)
}

function importsOf(path: string, text: string): string[] {
  const targets = text.matchAll(IMPORT).map(([, from, alone, later]) => (from ?? alone ?? later)!)
  return [...new Set(targets.map((to) => (to.startsWith('.') ? join(dirname(path), to) : to)))].map(
    (to) => (isPackage(to) ? to : normalize(to)),
  )
}

const isPackage = (target: string): boolean =>
  !/^(src|web|test|bench|scripts|schema|checkout)\//.test(target)

/** The longest name in the table that fits. */
function roomOf(path: string): string | undefined {
  return Object.keys(ROOMS)
    .filter((room) => path === room || path.startsWith(`${room}/`))
    .toSorted((a, b) => b.length - a.length)[0]
}

const roomImported = (target: string): string => roomOf(target) ?? target.split('/', 1)[0]!

function roomFault(from: string, target: string): string | undefined {
  const to = roomImported(target)
  if (from === to) return undefined
  const { uses } = ROOMS[from]!
  if (!uses.includes(to)) return `${from} may use ${uses.join(', ') || 'no other room'}`
  const door = ROOMS[to]?.door
  if (!door || door.includes(target.slice(to.length + 1))) return undefined
  return `others may import of ${to} only ${door.join(', ')}`
}

function packageFault(from: string, name: string): string | undefined {
  if (from === 'web/src' && name.startsWith('node:')) return 'the dashboard runs in a browser'
  const row = Object.keys(PACKAGES).find((each) => name === each || name.startsWith(`${each}/`))
  const rooms = row === undefined ? undefined : PACKAGES[row]!
  if (!rooms || rooms.includes(from)) return undefined
  return `${row} is for ${rooms.join(', ')}`
}

/** One way around for each group of modules that import each other. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  const done = new Set<string>()
  const way: string[] = []
  function visit(path: string): void {
    const at = way.indexOf(path)
    if (at !== -1) found.push([...way.slice(at), path])
    if (at !== -1 || done.has(path)) return
    way.push(path)
    for (const next of imports.get(path) ?? []) visit(next)
    way.pop()
    done.add(path)
  }
  for (const path of imports.keys()) visit(path)
  return found
}

if (import.meta.main) {
  const modules: Module[] = []
  for await (const path of glob('{src,web/src,test,bench,scripts,schema}/**/*.{ts,tsx}'))
    modules.push([path, readFileSync(path, 'utf8')])
  const faults = [...importFaults(modules), ...unusedAllowances(modules)]
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
