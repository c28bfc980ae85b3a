import type { Reaction } from '../../../records/fact.ts'
import type { AttachedTo } from '../../../records/release.ts'
import type { Group } from '../../discussions.ts'
import { linkedAttachments } from '../attachment-links.ts'
import { integerIn, type JsonObject, stringIn } from '../client/forge-values.ts'
import { type Attached, attachmentFact, type ListedFile, listedFiles } from '../facts/file-facts.ts'
import { reactionFacts, reactionKey } from '../facts/issue-facts.ts'
import { ifExists, listWholePart, type ReadContext } from './read-context.ts'

/** Collects the files of an issue and its comments, as the forge lists them or else as the texts link to them. */
export class AttachedFiles {
  readonly #context: ReadContext
  readonly #found: Attached[] = []

  constructor(context: ReadContext) {
    this.#context = context
  }

  facts = () => this.#found.map(({ fact }) => fact)
  files = () => this.#found.map(({ file }) => file)

  /** If `holder` cannot list its files, those of the comment `commentId` are requested. */
  async add(on: AttachedTo, holder: JsonObject, commentId?: number): Promise<void> {
    const { owner, name } = this.#context
    const known = new Set(this.#found.map(({ fact }) => fact.uuid))
    for (const file of await this.#filesOf(holder, commentId))
      if (!known.has(file.uuid))
        this.#found.push(attachmentFact(`${owner}/${name}`, on, holder, file))
  }

  async #filesOf(holder: JsonObject, commentId: number | undefined): Promise<ListedFile[]> {
    const { forge, notes } = this.#context
    const onExternal = () => notes.addSkipped('attachments that are links to elsewhere')
    // Some versions list files although their version number suggests otherwise.
    if (Array.isArray(holder.assets)) return listedFiles(holder, onExternal)
    const linked = linkedAttachments(stringIn(holder, 'body'), forge.client.url)
    if (!forge.can.issueAssets) {
      notes.addNoIssueAssets(forge.version)
      return linked.map((each) => ({ ...each, size: null, createdAt: null }))
    }
    // A review does not list its files, but the comment that Gitea stores for it does.
    if (commentId === undefined || linked.length === 0) return []
    const part = `issues/comments/${commentId}/assets`
    const assets = await ifExists(this.#context, () => listWholePart(this.#context, part))
    return assets ? listedFiles({ assets }, onExternal) : []
  }
}

/** Lets a reading reuse the reactions of comments that have not changed. */
export interface CommentCache {
  /** The group as an earlier reading stored it. */
  stored: Group | undefined
  /** Filled with the version of each comment, to be stored with the group. */
  seen: Record<string, string>
}

/** Returns the reactions of a comment. Those of an unchanged comment are taken from the stored group. */
export async function commentReactions(
  context: ReadContext,
  { stored, seen }: CommentCache,
  kind: 'issue_comments' | 'pull_request_review_comments',
  comment: JsonObject,
): Promise<readonly Reaction[]> {
  const id = integerIn(comment, 'id')
  const version = stringIn(comment, 'updated_at')
  seen[`comment/${id}`] = version
  if (stored?.seen?.[`comment/${id}`] === version) {
    const known = stored.facts[kind]?.find((each) => each.id === id)
    if (known) return known.reactions
  }
  const list = () =>
    listWholePart(context, `issues/comments/${id}/reactions`, { keyOf: reactionKey })
  // The comment may have been deleted since it was listed.
  const found = (await ifExists(context, list)) ?? []
  context.people.collect(found)
  return reactionFacts(found)
}
