import type { Db } from '../../../db/database.ts'
import type { Addresses } from '../../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../../repositories/facts.ts'
import { someFactsById } from '../../../repositories/facts-store.ts'
import type { Piece } from '../../middleware/json-answer.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import { holesIn, needsTokens, pushWithTokens } from './clone-token-holes.ts'
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
  /** In the order of the references. What had to be rendered for it is kept from the second time on that it is asked for. */
  read: ReadRendered
  /** The same, and what had to be rendered for it is not kept. */
  readOnce: ReadRendered
  /** Where the facts are at hand; it is kept. */
  render(shown: ShownTo, reference: number, facts: RepositoryFacts): Piece[]
}

/** In which form, and the tokens of whom it is shown to. */
export interface ShownTo {
  form: RepositoryForm
  tokenOf: CloneTokenOf | undefined
}

export type ReadRendered = (shown: ShownTo, references: readonly number[]) => Promise<Piece[]>

export function renderedRepositories(db: Db, addresses: Addresses): RenderedRepositories {
  const kept = keepTexts(MAX_KEPT_BYTES)
  const texts = {
    plain: repositoryText('plain', addresses),
    extended: repositoryText('extended', addresses),
  }
  const keyOf = (form: RepositoryForm, reference: number) =>
    2 * reference + (form === 'plain' ? 1 : 0)

  function bytesOf(form: RepositoryForm, facts: RepositoryFacts): KeptText {
    const bytes = Buffer.from(`,${texts[form](facts)}`)
    return { bytes, holes: holesIn(bytes, form, [facts]) }
  }

  type Make = (form: RepositoryForm, facts: RepositoryFacts, reference: number) => string | KeptText
  const make: Make = (form, facts) =>
    needsTokens(facts) ? bytesOf(form, facts) : `,${texts[form](facts)}`
  const makeAndKeep: Make = (form, facts, reference) => {
    const made = bytesOf(form, facts)
    kept.keep(keyOf(form, reference), made)
    return made
  }
  const makeAndPerhapsKeep: Make = (form, facts, reference) => {
    const isAskedAgain = kept.isAskedAgain(keyOf(form, reference))
    return (isAskedAgain ? makeAndKeep : make)(form, facts, reference)
  }

  const reading =
    (render: Make): ReadRendered =>
    async ({ form, tokenOf }, references) => {
      const found = references.map((reference) => kept.get(keyOf(form, reference)))
      const missing = references.filter((_, at) => found[at] === undefined)
      if (missing.length === 0) return piecesOf(found as KeptText[], tokenOf)
      const facts = await someFactsById(db, missing)
      const all = references.map(
        (reference, at) => found[at] ?? render(form, facts.get(reference)!, reference),
      )
      return piecesOf(all, tokenOf)
    }

  return {
    read: reading(makeAndPerhapsKeep),
    readOnce: reading(make),
    render: ({ form, tokenOf }, reference, facts) =>
      piecesOf([kept.get(keyOf(form, reference)) ?? makeAndKeep(form, facts, reference)], tokenOf),
  }
}

function piecesOf(all: readonly (string | KeptText)[], tokenOf: CloneTokenOf | undefined): Piece[] {
  const pieces: Piece[] = []
  for (const each of all) {
    if (typeof each === 'string') pieces.push(each)
    else if (tokenOf === undefined || each.holes.length === 0) pieces.push(each.bytes)
    else pushWithTokens(pieces, each.bytes, each.holes, tokenOf)
  }
  return pieces
}
