import type { ObjectFile } from './examine-objects.ts'
import type { LfsPointer } from './lfs-pointers.ts'

const MAX_NAMED = 3

/** What is to be told of pointers without their objects: the host's own clients cannot fetch those either. */
export interface LfsReport {
  /** As their pointers name them, in the order of their oids. */
  missing: LfsPointer[]
  /** In a line; null where there is nothing to tell. */
  warning: string | null
}

export function lfsReport(
  parts: readonly { pointers: readonly LfsPointer[]; objects: readonly ObjectFile[] }[],
): LfsReport {
  const missing = new Map<string, LfsPointer>()
  const otherSize = new Set<string>()
  for (const { pointers, objects } of parts) {
    const sizes = new Map(objects.map(({ path, size }) => [path.split('/').at(-1), size]))
    for (const pointer of pointers) {
      const { oid, size } = pointer
      const there = sizes.get(oid)
      if (there === undefined) missing.set(oid, pointer)
      else if (there !== size) otherSize.add(oid)
    }
  }
  const told = [
    tell(missing.keys(), 'LFS object is missing', 'LFS objects are missing'),
    tell(
      otherSize.keys(),
      'LFS object differs in size from its pointer',
      'LFS objects differ in size from their pointers',
    ),
  ].filter((text) => text !== undefined)
  return {
    missing: [...missing.values()].sort((a, b) => (a.oid < b.oid ? -1 : 1)),
    warning: told.length === 0 ? null : told.join('; '),
  }
}

function tell(those: Iterable<string>, one: string, many: string): string | undefined {
  const oids = [...those]
  if (oids.length === 0) return undefined
  const first = oids.slice(0, MAX_NAMED).join(', ')
  const more = oids.length > MAX_NAMED ? ` and ${oids.length - MAX_NAMED} more` : ''
  return `${oids.length} ${oids.length === 1 ? one : many}: ${first}${more}`
}
