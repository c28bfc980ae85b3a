import type { Reaction } from '../../records/fact.ts'
import type { Group } from '../discussions.ts'
import { NotThere } from './forge-errors.ts'
import { type Entry, listWhole } from './forge-pages.ts'
import { numberIn, textIn } from './forge-values.ts'
import { reactionFacts, reactionKey } from './issue-facts.ts'
import { type ReadContext, repositoryPath } from './read-context.ts'

type ReactedKind = 'issue_comments' | 'pull_request_review_comments'

/** What was seen of the parts of an issue, and what was kept of it: parts that are the same are not read again. */
export interface Memory {
  kept: Group | undefined
  /** Versions of comments, by what they are. */
  seen: Record<string, string>
}

/** Reactions do not change what they belong to: those of an unchanged comment are taken as they were. */
export async function commentReactions(
  context: ReadContext,
  { kept, seen }: Memory,
  kind: ReactedKind,
  comment: Entry,
): Promise<readonly Reaction[]> {
  const { forge, signal, people } = context
  const id = numberIn(comment, 'id')
  const version = textIn(comment, 'updated_at')
  seen[`comment/${id}`] = version
  if (kept?.seen?.[`comment/${id}`] === version) {
    const known = kept.facts[kind]?.find((each) => each.id === id)
    if (known) return known.reactions
  }
  const path = `${repositoryPath(context)}/issues/comments/${id}/reactions`
  const found = await listWhole(forge.client, path, signal, reactionKey).catch((error: unknown) => {
    // Deleted since it was listed.
    if (error instanceof NotThere) return []
    throw error
  })
  people.meet(found)
  return reactionFacts(found)
}
