type Pointer = { oid: string } | { target: string }

/**
 * Names and targets are byte strings (latin1): git gives names no encoding, and sorts them by bytes as `<` sorts these.
 */
export type Ref = { name: string } & Pointer

export interface Refs {
  head: Pointer
  refs: Ref[]
}

export function readable(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8')
}

/** As far as git follows. */
const MAX_STEPS = 5

/**
 * Every ref with the object that it names in the end. One that leads nowhere names nothing: git does not list it, no client
 * of the host ever saw it, and `git fsck` would call it an error.
 */
export function resolvedRefs(refs: readonly Ref[]): { ref: Ref; oid: string }[] {
  const faultByName = new Map(refs.map((ref) => [ref.name, ref]))
  const follow = (ref: Ref | undefined, steps: number): string | undefined => {
    if (ref === undefined || 'oid' in ref) return ref?.oid
    return steps === 0 ? undefined : follow(faultByName.get(ref.target), steps - 1)
  }
  return refs.flatMap((ref) => {
    const oid = follow(ref, MAX_STEPS)
    return oid === undefined ? [] : [{ ref, oid }]
  })
}

export function resolvingSymrefs(refs: readonly Ref[]): { name: string; target: string }[] {
  return resolvedRefs(refs).flatMap(({ ref }) => ('target' in ref ? [ref] : []))
}

/** What a repository's refs say, in text that anybody can read. */
export interface StatedRefs {
  /** The ref that HEAD names, or the commit where it names none. */
  head: string
  refs: { name: string; oid: string }[]
  symrefs: { name: string; target: string }[]
}

export function statedRefs({ head, refs }: Refs): StatedRefs {
  return {
    head: 'oid' in head ? head.oid : readable(head.target),
    refs: refs.flatMap((ref) => ('oid' in ref ? [{ ...ref, name: readable(ref.name) }] : [])),
    symrefs: resolvingSymrefs(refs).map(({ name, target }) => ({
      name: readable(name),
      target: readable(target),
    })),
  }
}
