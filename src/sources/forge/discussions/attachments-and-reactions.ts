import type { Losses } from '../../../lib/losses.ts'
import type { Reaction } from '../../../records/issue.ts'
import type { AttachedTo } from '../../../records/release.ts'
import type { Group } from '../../discussions.ts'
import { linkedAttachments } from '../attachment-links.ts'
import type { Json } from '../client/forge-values.ts'
import * as json from '../client/forge-values.ts'
import { readFileName } from '../client/open-file.ts'
import { attachmentFact, type ListedFile, listedFiles } from '../facts/file-facts.ts'
import { reactionFacts, reactionKey } from '../facts/issue-facts.ts'
import { ifExists, listUnpagedPart, type ReadContext } from './read-context.ts'

/** The issue or pull request that is being read. */
export interface IssueContext extends ReadContext {
  issueNumber: number
  issue: Json
  /** The files of the issue, its comments and its reviews that were found so far. */
  attachments: ReturnType<typeof attachmentFact>[]
  /** The group as an earlier read stored it. Reactions to comments that have not changed are taken from it. */
  stored: Group | undefined
  /** Filled with the version of each comment, to be stored with the group. */
  seen: Record<string, string>
  lost: Losses
}

/** Adds the files of `holder` (an issue, comment or review). If it does not list them, those of the comment `commentId` are requested. */
export async function addAttachments(
  context: IssueContext,
  on: AttachedTo,
  holder: Json,
  commentId?: number,
): Promise<void> {
  const { attachments, fullName } = context
  const known = new Set(attachments.map(({ fact }) => fact.uuid))
  for (const file of await filesOf(context, holder, commentId))
    if (!known.has(file.uuid)) attachments.push(attachmentFact(fullName, on, holder, file))
}

/**
 * Returns the files that the forge lists. If it cannot list them, returns those that the text links to, by the name of their download.
 */
async function filesOf(context: IssueContext, holder: Json, commentId: number | undefined) {
  const { forge, notes, lost, issueNumber, stored, signal } = context
  const onExternal = () => lost.add('attachments', 1, `#${issueNumber}: a link to another host`)
  // Some versions list files although their version number suggests otherwise.
  if (Array.isArray(holder.assets)) return listedFiles(holder, onExternal)
  const linked = linkedAttachments(json.string(holder, 'body'), forge.client.url)
  if (!forge.can.issueAssets) {
    notes.addNoIssueAssets(forge.version)
    const files: ListedFile[] = []
    for (const { uuid, name } of linked) {
      const known = stored?.facts.attachments?.find((each) => each.uuid === uuid)?.name
      const sent = known ?? (await readFileName(forge.client, uuid, signal))
      files.push({ uuid, name: sent ?? name, size: null, createdAt: null })
    }
    return files
  }
  // A review does not list its files, but the comment that Gitea stores for it does.
  if (commentId === undefined || linked.length === 0) return []
  const part = `issues/comments/${commentId}/assets`
  const assets = await ifExists(context, () => listUnpagedPart(context, part))
  return assets ? listedFiles({ assets }, onExternal) : []
}

/** Returns the reactions of a comment. Those of an unchanged comment are taken from the stored group. */
export async function commentReactions(
  context: IssueContext,
  kind: 'issue_comments' | 'pull_request_review_comments',
  comment: Json,
): Promise<readonly Reaction[]> {
  const { stored, seen } = context
  const id = json.integer(comment, 'id')
  const version = json.string(comment, 'updated_at')
  seen[`comment/${id}`] = version
  if (stored?.seen?.[`comment/${id}`] === version) {
    const known = stored.facts[kind]?.find((each) => each.id === id)
    if (known) return known.reactions
  }
  const list = () => listUnpagedPart(context, `issues/comments/${id}/reactions`, reactionKey)
  // The comment may have been deleted since it was listed.
  const found = (await ifExists(context, list)) ?? []
  context.people.collect(found)
  return reactionFacts(found)
}
