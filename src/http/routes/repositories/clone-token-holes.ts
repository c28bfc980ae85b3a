import type { RepositoryFacts } from '../../../repositories/facts.ts'
import type { Piece } from '../../middleware/json-answer.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import type { RepositoryForm } from './repository-text.ts'

/** Where a token belongs, in bytes that have an empty one. */
export interface TokenHole {
  at: number
  repositoryId: number
}

/** No text of a repository can look so: quotes within a string are escaped. */
const EMPTY = Buffer.from('"temp_clone_token":""')

const NO_HOLES: readonly TokenHole[] = []

/** What is public needs none. */
export const needsTokens = (facts: RepositoryFacts): boolean =>
  facts.private || facts.template?.private === true

/** The places for tokens in the JSON of these repositories. */
export function holesIn(
  bytes: Buffer,
  form: RepositoryForm,
  shown: readonly RepositoryFacts[],
): readonly TokenHole[] {
  // Most need none, and to search their text costs as much as to write it.
  if (!shown.some(needsTokens)) return NO_HOLES
  const holes: TokenHole[] = []
  let from = 0
  for (const facts of shown) {
    // The plain form has a token in its template alone.
    const withToken = [
      ...(form === 'extended' ? [facts] : []),
      ...(facts.template ? [facts.template] : []),
    ]
    for (const { id, private: isPrivate } of withToken) {
      const start = bytes.indexOf(EMPTY, from)
      if (start === -1) return holes
      from = start + EMPTY.length
      if (isPrivate) holes.push({ at: from - 1, repositoryId: id })
    }
  }
  return holes
}

/** Adds the bytes in pieces, with the tokens between them. */
export function pushWithTokens(
  pieces: Piece[],
  bytes: Buffer,
  holes: readonly TokenHole[],
  tokenOf: CloneTokenOf,
): void {
  let from = 0
  let token = NONE
  for (const { at, repositoryId } of holes) {
    if (token !== NONE) pieces.push(token)
    pieces.push(bytes.subarray(from, at))
    token = tokenOf(repositoryId)
    from = at
  }
  // Little follows the last token, and each piece of a write costs more than to copy that.
  pieces.push(Buffer.concat([token, bytes.subarray(from)]))
}

const NONE: Buffer = Buffer.alloc(0)
