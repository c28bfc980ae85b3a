import type { RepositoryFacts } from '../../../repositories/facts.ts'
import type { Piece } from '../../middleware/json-response.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import type { RepositoryForm } from './repository-json.ts'

/** The position of an empty `temp_clone_token` in rendered JSON. */
export interface TokenPlaceholder {
  at: number
  repositoryId: number
}

/** Occurs only as a member: inside of a string the quotes are escaped. */
const EMPTY_TOKEN = Buffer.from('"temp_clone_token":""')

const NO_PLACEHOLDERS: readonly TokenPlaceholder[] = []

/** Returns whether the repository or its template is private. Public repositories are cloned without a token. */
export const needsTokens = (facts: RepositoryFacts): boolean =>
  facts.private || facts.template?.private === true

/** Returns the placeholders in the JSON of these repositories, which must be in the order of the JSON. */
export function findTokenPlaceholders(
  bytes: Buffer,
  form: RepositoryForm,
  repositories: readonly RepositoryFacts[],
): readonly TokenPlaceholder[] {
  // Most repositories need no token, and searching their text would take as long as rendering it.
  if (!repositories.some(needsTokens)) return NO_PLACEHOLDERS
  const placeholders: TokenPlaceholder[] = []
  let from = 0
  for (const facts of repositories) {
    // In the plain form only the template has a token.
    const withToken = [
      ...(form === 'extended' ? [facts] : []),
      ...(facts.template ? [facts.template] : []),
    ]
    for (const { id, private: isPrivate } of withToken) {
      const start = bytes.indexOf(EMPTY_TOKEN, from)
      if (start === -1) return placeholders
      from = start + EMPTY_TOKEN.length
      if (isPrivate) placeholders.push({ at: from - 1, repositoryId: id })
    }
  }
  return placeholders
}

const NO_TOKEN: Buffer = Buffer.alloc(0)

/** Appends the bytes to `pieces`, with a token at each placeholder. */
export function pushWithTokens(
  pieces: Piece[],
  bytes: Buffer,
  placeholders: readonly TokenPlaceholder[],
  tokenOf: CloneTokenOf,
): void {
  if (placeholders.length === 0) {
    pieces.push(bytes)
    return
  }
  let from = 0
  let token = NO_TOKEN
  for (const { at, repositoryId } of placeholders) {
    if (token !== NO_TOKEN) pieces.push(token)
    pieces.push(bytes.subarray(from, at))
    token = tokenOf(repositoryId)
    from = at
  }
  // The rest after the last token is short: copying it is cheaper than another piece to write.
  pieces.push(Buffer.concat([token, bytes.subarray(from)]))
}
