import type { ObjectFile } from './examine-objects.ts'
import type { LfsPointer } from './lfs-pointers.ts'

const MAX_NAMED = 3

/** What is to be told of pointers without their objects: the host's own clients cannot fetch those either. */
export function lfsWarning(
  parts: readonly { pointers: readonly LfsPointer[]; objects: readonly ObjectFile[] }[],
): string | null {
  const missing = new Set<string>()
  const otherSize = new Set<string>()
  for (const { pointers, objects } of parts) {
    const sizes = new Map(objects.map(({ path, size }) => [path.split('/').at(-1), size]))
    for (const { oid, size } of pointers) {
      const there = sizes.get(oid)
      if (there === undefined) missing.add(oid)
      else if (there !== size) otherSize.add(oid)
    }
  }
  const told = [
    tell(missing, 'LFS object is missing', 'LFS objects are missing'),
    tell(
      otherSize,
      'LFS object has another size than its pointer says',
      'LFS objects have other sizes than their pointers say',
    ),
  ].filter((text) => text !== undefined)
  return told.length === 0 ? null : told.join('; ')
}

function tell(oids: ReadonlySet<string>, one: string, many: string): string | undefined {
  if (oids.size === 0) return undefined
  const first = [...oids].slice(0, MAX_NAMED).join(', ')
  const more = oids.size > MAX_NAMED ? ` and ${oids.size - MAX_NAMED} more` : ''
  return `${oids.size} ${oids.size === 1 ? one : many}: ${first}${more}`
}
