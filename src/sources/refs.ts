type Pointer = { oid: string } | { target: string }

/** Names and targets are byte strings (latin1): names have no encoding in git, and `<` sorts byte strings as git does. */
export type Ref = { name: string } & Pointer

export interface Refs {
  head: Pointer
  refs: Ref[]
}

/** Decodes a byte string as UTF-8. */
export function readable(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8')
}

/** The limit of git. */
const MAX_SYMREF_CHAIN = 5

/** Returns the refs with their objects, without symbolic refs to nothing: git does not list those, and `git fsck` reports them. */
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

/** Returns the symbolic refs that lead to an object. */
export function resolvingSymrefs(refs: readonly Ref[]): { name: string; target: string }[] {
  return resolvedRefs(refs).flatMap(({ ref }) => ('target' in ref ? [ref] : []))
}

/** Refs with UTF-8 names. */
export interface ReadableRefs {
  /** The ref that HEAD names; the commit where HEAD is detached. */
  head: string
  refs: { name: string; oid: string }[]
  symrefs: { name: string; target: string }[]
}

export function readableRefs({ head, refs }: Refs): ReadableRefs {
  return {
    head: 'oid' in head ? head.oid : readable(head.target),
    refs: refs.flatMap((ref) => ('oid' in ref ? [{ ...ref, name: readable(ref.name) }] : [])),
    symrefs: resolvingSymrefs(refs).map(({ name, target }) => ({
      name: readable(name),
      target: readable(target),
    })),
  }
}
