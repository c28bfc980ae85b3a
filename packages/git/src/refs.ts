type Pointer = { oid: string } | { target: string }

/** Names and targets are byte strings (latin1): names have no encoding in git, and `<` sorts byte strings as git does. */
export type Ref = { name: string } & Pointer

export interface Refs {
  head: Pointer
  refs: Ref[]
}

/** Decodes a byte string as UTF-8. */
export function decodeUtf8(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8')
}

/** Git follows at most this many symbolic refs. */
const MAX_SYMREF_CHAIN = 4

/** Returns the refs with their objects. Leaves out dangling symbolic refs, which git does not list and `git fsck` reports. */
export function resolvedRefs(refs: readonly Ref[]): { ref: Ref; oid: string }[] {
  const byName = new Map(refs.map((ref) => [ref.name, ref]))
  const follow = (ref: Ref | undefined, steps: number): string | undefined => {
    if (ref === undefined || 'oid' in ref) return ref?.oid
    return steps === 0 ? undefined : follow(byName.get(ref.target), steps - 1)
  }
  return refs.flatMap((ref) => {
    const oid = follow(ref, MAX_SYMREF_CHAIN)
    return oid === undefined ? [] : [{ ref, oid }]
  })
}

/** Returns the symbolic refs that resolve to an object. */
export function resolvableSymrefs(refs: readonly Ref[]): { name: string; target: string }[] {
  return resolvedRefs(refs).flatMap(({ ref }) => ('target' in ref ? [ref] : []))
}

/** Returns the refs with UTF-8 names. */
export function decodeRefs({ head, refs }: Refs) {
  return {
    /** The ref that HEAD names, or the commit if HEAD is detached. */
    head: 'oid' in head ? head.oid : decodeUtf8(head.target),
    refs: refs.flatMap((ref) => ('oid' in ref ? [{ ...ref, name: decodeUtf8(ref.name) }] : [])),
    symrefs: resolvableSymrefs(refs).map(({ name, target }) => ({
      name: decodeUtf8(name),
      target: decodeUtf8(target),
    })),
  }
}
