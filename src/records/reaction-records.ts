import { list, type Shape } from '../lib/json-shape.ts'
import type { Reaction } from './fact.ts'
import { anyText, orElse, part } from './field-shapes.ts'
import { person } from './read-addresses.ts'
import type { Links } from './record-addresses.ts'

/** An archive names a reaction by its emoji, REST by what it means. */
const EMOJI_BY_REACTION = new Map([
  ['laugh', 'smile'],
  ['confused', 'thinking_face'],
  ['hooray', 'tada'],
])
const REACTION_BY_EMOJI = new Map([...EMOJI_BY_REACTION].map(([name, emoji]) => [emoji, name]))

export const reactions: Shape<Reaction[]> = orElse(
  list(
    part((field): Reaction => {
      const content = field('content', anyText)
      return {
        author: field('user', person),
        content: REACTION_BY_EMOJI.get(content) ?? content,
        createdAt: field('created_at', anyText),
      }
    }),
  ),
  [],
)

/** Pull requests count as issues. */
type SubjectType =
  | ('Issue' | 'IssueComment' | 'PullRequestReview' | 'PullRequestReviewComment')
  | ('CommitComment' | 'Discussion' | 'Release')

/** In the order of their emojis' names, then as they came, as GitHub has them. */
export function writeReactions(
  reactions: readonly Reaction[],
  subjectType: SubjectType,
  links: Links,
): unknown[] {
  const written = reactions.map(({ author, content, createdAt }) => ({
    user: links.person(author),
    content: EMOJI_BY_REACTION.get(content) ?? content,
    subject_type: subjectType,
    created_at: withMilliseconds(createdAt),
  }))
  return written.sort((a, b) => (a.content < b.content ? -1 : Number(a.content > b.content)))
}

/** `2024-05-02T09:00:00Z` is `2024-05-02T09:00:00.000+00:00` here, and only here. */
function withMilliseconds(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time) ? `${time.slice(0, -1)}.000+00:00` : time
}
