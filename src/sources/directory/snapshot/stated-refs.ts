import type { ObjectFormat } from './bare-repository.ts'
import type { Found } from './examine.ts'
import { readable } from './examine-refs.ts'
import { resolvingSymrefs } from './snapshot-scratch.ts'

/** What a repository's refs say, in text that anybody can read. */
export interface StatedRefs {
  objectFormat: ObjectFormat
  /** The ref that HEAD names, or the commit where it names none. */
  head: string
  refs: { name: string; oid: string }[]
  symrefs: { name: string; target: string }[]
}

export function statedRefs({ objectFormat, head, refs }: Found): StatedRefs {
  return {
    objectFormat,
    head: 'oid' in head ? head.oid : readable(head.target),
    refs: refs.flatMap((ref) => ('oid' in ref ? [{ ...ref, name: readable(ref.name) }] : [])),
    symrefs: resolvingSymrefs(refs).map(({ name, target }) => ({
      name: readable(name),
      target: readable(target),
    })),
  }
}
