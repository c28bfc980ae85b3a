import type { Reaction } from '../../../records/fact.ts'
import type { Group } from '../../discussions.ts'
import type { Entry } from '../client/forge-pages.ts'
import { numberIn, textIn } from '../client/forge-values.ts'
import { reactionFacts, reactionKey } from '../facts/issue-facts.ts'
import { ifExists, listWholePart, type ReadContext } from './read-context.ts'

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
  const id = numberIn(comment, 'id')
  const version = textIn(comment, 'updated_at')
  seen[`comment/${id}`] = version
  if (kept?.seen?.[`comment/${id}`] === version) {
    const known = kept.facts[kind]?.find((each) => each.id === id)
    if (known) return known.reactions
  }
  const part = `issues/comments/${id}/reactions`
  const found = await ifExists(context, () => listWholePart(context, part, reactionKey))
  // Deleted since it was listed.
  if (!found) return []
  context.people.meet(found)
  return reactionFacts(found)
}
