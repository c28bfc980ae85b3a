import type { Db } from '../../db/database.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import { someFactsById } from '../../repositories/facts-store.ts'
import { keepBytes } from '../door/kept-bytes.ts'
import { type RepositoryForm, repositoryText } from './repository-text.ts'

const MAX_KEPT_BYTES = 32 * 1024 * 1024

/**
 * Repositories as JSON, each with a comma before it. Facts never change, so what was rendered once holds for every
 * migration that refers to them, and is kept while it is asked for.
 */
export interface RenderedRepositories {
  /** In the order of the references. */
  read(form: RepositoryForm, references: readonly number[]): Promise<Buffer[]>
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

  function make(form: RepositoryForm, reference: number, facts: RepositoryFacts): Buffer {
    const bytes = Buffer.from(`,${texts[form](facts)}`)
    kept.keep(keyOf(form, reference), bytes)
    return bytes
  }

  async function readMissing(
    form: RepositoryForm,
    references: readonly number[],
    found: (Buffer | undefined)[],
  ): Promise<Buffer[]> {
    const missing = references.filter((_, at) => found[at] === undefined)
    const facts = await someFactsById(db, missing)
    return references.map(
      (reference, at) => found[at] ?? make(form, reference, facts.get(reference)!),
    )
  }

  return {
    async read(form, references) {
      const found: (Buffer | undefined)[] = []
      let isWhole = true
      for (const reference of references) {
        const bytes = kept.get(keyOf(form, reference))
        if (!bytes) isWhole = false
        found.push(bytes)
      }
      return isWhole ? (found as Buffer[]) : readMissing(form, references, found)
    },
    render: (form, reference, facts) =>
      kept.get(keyOf(form, reference)) ?? make(form, reference, facts),
  }
}
