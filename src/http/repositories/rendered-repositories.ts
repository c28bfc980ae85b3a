import type { Db } from '../../db/database.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import { someFactsById } from '../../repositories/facts-store.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import { holesIn, pushWithTokens, type TokenHole } from './clone-token-holes.ts'
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

interface Rendered {
  bytes: Buffer
  holes: readonly TokenHole[]
  /** Of the bytes. */
  length: number
}

export function renderedRepositories(db: Db, addresses: Addresses): RenderedRepositories {
  const kept = keepBytes<Rendered>(MAX_KEPT_BYTES)
  const texts = {
    plain: repositoryText('plain', addresses),
    extended: repositoryText('extended', addresses),
  }
  const keyOf = (form: RepositoryForm, reference: number) =>
    2 * reference + (form === 'plain' ? 1 : 0)

  type Make = (form: RepositoryForm, reference: number, facts: RepositoryFacts) => Rendered
  const make: Make = (form, _reference, facts) => {
    const bytes = Buffer.from(`,${texts[form](facts)}`)
    return { bytes, holes: holesIn(bytes, form, [facts]), length: bytes.length }
  }
  const makeAndKeep: Make = (form, reference, facts) => {
    const rendered = make(form, reference, facts)
    kept.keep(keyOf(form, reference), rendered)
    return rendered
  }

  const reading =
    (render: Make): ReadRendered =>
    async ({ form, tokenOf }, references) => {
      const found = references.map((reference) => kept.get(keyOf(form, reference)))
      const missing = references.filter((_, at) => found[at] === undefined)
      if (missing.length === 0) return piecesOf(found as Rendered[], tokenOf)
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

function piecesOf(all: readonly Rendered[], tokenOf: CloneTokenOf | undefined): Buffer[] {
  const pieces: Buffer[] = []
  for (const { bytes, holes } of all) {
    if (tokenOf === undefined || holes.length === 0) pieces.push(bytes)
    else pushWithTokens(pieces, bytes, holes, tokenOf)
  }
  return pieces
}

/** Bytes that were made once, by a number that stands for them: about so many in all, those that are asked for again. */
interface KeptBytes<T extends Sized> {
  get(key: number): T | undefined
  keep(key: number, bytes: T): void
}

interface Sized {
  length: number
}

/**
 * Two generations: what is asked for moves into the younger, and when that has its half of the room, the older is dropped
 * with all that nobody has asked for meanwhile.
 */
export function keepBytes<T extends Sized>(maxBytes: number): KeptBytes<T> {
  let young = new Map<number, T>()
  let old = new Map<number, T>()
  let youngBytes = 0

  function keep(key: number, bytes: T): void {
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
