import type { Db } from '../../db/database.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import { someFactsById } from '../../repositories/facts-store.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import { holesIn, pushWithTokens } from './clone-token-holes.ts'
import { type KeptText, keepTexts } from './kept-texts.ts'
import { type RepositoryForm, repositoryText } from './repository-text.ts'

const MAX_KEPT_BYTES = 32 * 1024 * 1024
/** Others get their turn between so many. */
export const RENDERED_AT_ONCE = 50

/**
 * Repositories as JSON in pieces, with a comma before each repository. Facts never change, so what was rendered once holds for
 * every migration that refers to them, and is kept while it is asked for: all but the tokens to clone with, which are put in
 * for whoever asks.
 */
export interface RenderedRepositories {
  /** In the order of the references. */
  read: ReadRendered
  /** The same, and what had to be rendered for it is not kept. */
  readOnce: ReadRendered
  /** Where the facts are at hand. */
  render(shown: ShownTo, reference: number, facts: RepositoryFacts): Buffer[]
}

/** In which form, and the tokens of whom it is shown to. */
export interface ShownTo {
  form: RepositoryForm
  tokenOf: CloneTokenOf | undefined
}

export type ReadRendered = (shown: ShownTo, references: readonly number[]) => Promise<Buffer[]>

export function renderedRepositories(db: Db, addresses: Addresses): RenderedRepositories {
  const kept = keepTexts(MAX_KEPT_BYTES)
  const texts = {
    plain: repositoryText('plain', addresses),
    extended: repositoryText('extended', addresses),
  }
  const keyOf = (form: RepositoryForm, reference: number) =>
    2 * reference + (form === 'plain' ? 1 : 0)

  type Make = (form: RepositoryForm, reference: number, facts: RepositoryFacts) => KeptText
  const make: Make = (form, _reference, facts) => {
    const bytes = Buffer.from(`,${texts[form](facts)}`)
    return { bytes, holes: holesIn(bytes, form, [facts]) }
  }
  const makeAndKeep: Make = (form, reference, facts) =>
    kept.keep(keyOf(form, reference), `,${texts[form](facts)}`, (bytes) =>
      holesIn(bytes, form, [facts]),
    )

  const reading =
    (render: Make): ReadRendered =>
    async ({ form, tokenOf }, references) => {
      const found = references.map((reference) => kept.get(keyOf(form, reference)))
      const missing = references.filter((_, at) => found[at] === undefined)
      if (missing.length === 0) return piecesOf(found as KeptText[], tokenOf)
      const facts = await someFactsById(db, missing)
      const all = references.map(
        (reference, at) => found[at] ?? render(form, reference, facts.get(reference)!),
      )
      return piecesOf(all, tokenOf)
    }

  return {
    read: reading(makeAndKeep),
    readOnce: reading(make),
    render: ({ form, tokenOf }, reference, facts) =>
      piecesOf([kept.get(keyOf(form, reference)) ?? makeAndKeep(form, reference, facts)], tokenOf),
  }
}

function piecesOf(all: readonly KeptText[], tokenOf: CloneTokenOf | undefined): Buffer[] {
  const pieces: Buffer[] = []
  for (const { bytes, holes } of all) {
    if (tokenOf === undefined || holes.length === 0) pieces.push(bytes)
    else pushWithTokens(pieces, bytes, holes, tokenOf)
  }
  return pieces
}
