import type { Db } from '../../db/database.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import { someFactsById } from '../../repositories/facts-store.ts'
import { type RepositoryForm, repositoryText } from './repository-text.ts'

const MAX_KEPT_BYTES = 32 * 1024 * 1024

/**
 * Repositories as JSON, each with a comma before it. Facts never change, so what was rendered once holds for every
 * migration that refers to them, and is kept while it is asked for.
 */
export interface RenderedRepositories {
  /** In the order of the references. */
  read(form: RepositoryForm, references: readonly number[]): Promise<Buffer[]>
  /** The same, and what had to be rendered for it is not kept. */
  readOnce(form: RepositoryForm, references: readonly number[]): Promise<Buffer[]>
  /** Where the facts are at hand. */
  render(form: RepositoryForm, reference: number, facts: RepositoryFacts): Buffer
}

export function renderedRepositories(db: Db, addresses: Addresses): RenderedRepositories {
  const kept = keepBytes(MAX_KEPT_BYTES)
  const texts = {
    plain: repositoryText('plain', addresses),
    extended: repositoryText('extended', addresses),
  }
  const keyOf = (form: RepositoryForm, reference: number) =>
    2 * reference + (form === 'plain' ? 1 : 0)

  type Make = RenderedRepositories['render']
  const make: Make = (form, _reference, facts) => Buffer.from(`,${texts[form](facts)}`)
  const makeAndKeep: Make = (form, reference, facts) => {
    const bytes = make(form, reference, facts)
    kept.keep(keyOf(form, reference), bytes)
    return bytes
  }

  const reading =
    (render: Make): RenderedRepositories['read'] =>
    async (form, references) => {
      const found = references.map((reference) => kept.get(keyOf(form, reference)))
      const missing = references.filter((_, at) => found[at] === undefined)
      if (missing.length === 0) return found as Buffer[]
      const facts = await someFactsById(db, missing)
      return references.map(
        (reference, at) => found[at] ?? render(form, reference, facts.get(reference)!),
      )
    }

  return {
    read: reading(makeAndKeep),
    readOnce: reading(make),
    render: (form, reference, facts) =>
      kept.get(keyOf(form, reference)) ?? makeAndKeep(form, reference, facts),
  }
}

/** Bytes that were made once, by a number that stands for them: about so many in all, those that are asked for again. */
interface KeptBytes {
  get(key: number): Buffer | undefined
  keep(key: number, bytes: Buffer): void
}

/**
 * Two generations: what is asked for moves into the younger, and when that has its half of the room, the older is dropped
 * with all that nobody has asked for meanwhile.
 */
export function keepBytes(maxBytes: number): KeptBytes {
  let young = new Map<number, Buffer>()
  let old = new Map<number, Buffer>()
  let youngBytes = 0

  function keep(key: number, bytes: Buffer): void {
    if (bytes.length > maxBytes / 2 || young.has(key)) return
    if (youngBytes + bytes.length > maxBytes / 2) {
      old = young
      young = new Map()
      youngBytes = 0
    }
    young.set(key, bytes)
    youngBytes += bytes.length
  }

  return {
    get(key) {
      const found = young.get(key)
      if (found) return found
      const older = old.get(key)
      if (older) keep(key, older)
      return older
    },
    keep,
  }
}
