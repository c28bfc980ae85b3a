import type { RepositoryFacts } from '../../repositories/facts.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import type { RepositoryForm } from './repository-text.ts'

/** Where a token belongs, in bytes that have an empty one. */
export interface TokenHole {
  at: number
  repositoryId: number
}

/** No text of a repository can look so: quotes within a string are escaped. */
const EMPTY = Buffer.from('"temp_clone_token":""')

/** The places for tokens in the JSON of these repositories. What is public needs none. */
export function holesIn(
  bytes: Buffer,
  form: RepositoryForm,
  shown: readonly RepositoryFacts[],
): TokenHole[] {
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

/** The bytes in pieces, with the tokens between them. */
export function withTokens(
  bytes: Buffer,
  holes: readonly TokenHole[],
  tokenOf: CloneTokenOf,
): Buffer[] {
  const pieces: Buffer[] = []
  let from = 0
  for (const { at, repositoryId } of holes) {
    pieces.push(bytes.subarray(from, at), tokenOf(repositoryId))
    from = at
  }
  pieces.push(bytes.subarray(from))
  return pieces
}
