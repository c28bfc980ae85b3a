import { readFile, writeFile } from 'node:fs/promises'
import { ROOMS } from './import-table.ts'

/** `node scripts/house-picture.ts` draws the rooms of ARCHITECTURE.md anew. */
const ARCHITECTURE = new URL('../docs/ARCHITECTURE.md', import.meta.url)
const BETWEEN = /(<!-- rooms -->\n).*?(<!-- \/rooms -->)/s

/** Every room uses it: its arrows would hide the others. */
const BELOW_ALL = 'src/lib'

/**
 * Of the table of imports only what no longer way says: a room may use what its arrows lead to. All of them would be a picture of
 * arrows.
 */
function picture(): string {
  const rooms = Object.keys(ROOMS).filter((room) => room.startsWith('src') && room !== BELOW_ALL)
  const arrows = rooms
    .map((room) => [room, nearest(room).filter((to) => rooms.includes(to))] as const)
    .filter(([, nearby]) => nearby.length > 0)
    .map(([room, nearby]) => `  ${shown(room)} --> ${nearby.map(shown).join(' & ')}\n`)
  return ['```mermaid\n', 'flowchart TD\n', ...arrows, '```\n'].join('')
}

function nearest(room: string): string[] {
  const uses = ROOMS[room]?.uses ?? []
  return uses.filter((to) => !uses.some((other) => reaches(other, to)))
}

function reaches(from: string, to: string): boolean {
  return (ROOMS[from]?.uses ?? []).some((next) => next === to || reaches(next, to))
}

const shown = (room: string): string => room.replace(/^src\//, '').replace(/\.ts$/, '')

export async function architectureWithPicture(): Promise<{ before: string; after: string }> {
  const before = await readFile(ARCHITECTURE, 'utf8')
  return { before, after: before.replace(BETWEEN, (_, open, close) => open + picture() + close) }
}

if (import.meta.main) await writeFile(ARCHITECTURE, (await architectureWithPicture()).after)
