import { isDeepStrictEqual } from 'node:util'
import type { Reaction } from '@godwit/archive/records/issue'
import type { AttachedTo } from '@godwit/archive/records/release'
import type { Losses } from '@godwit/lib/findings'
import type { Group } from '../../discussions.ts'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { readFileName } from '../../http/open-file.ts'
import { linkedAttachments } from '../attachment-links.ts'
import { attachmentRecord, type ListedFile, listedFiles } from '../records/file-records.ts'
import { reactionKey, reactionRecords } from '../records/issue-records.ts'
import { ifExists, listUnpagedPart, type ReadContext } from './read-context.ts'

/** The issue or pull request that is being read. */
export interface IssueContext extends ReadContext {
  issueNumber: number
  issue: Json
  /** The files of the issue, its comments and its reviews that were found so far. */
  attachments: ReturnType<typeof attachmentRecord>[]
  /** The group as an earlier read stored it. Reactions to comments that have not changed are taken from it. */
  stored: Group | undefined
  /** Filled with the version of each comment, to be stored with the group. */
  seen: Record<string, string>
  losses: Losses
}

/**
 * Adds the files of `holder` (an issue, comment or review). If it does not list them, those of `comment` are requested, unless an
 * earlier read has stored them and the comment has not changed.
 */
export async function addAttachments(
  context: IssueContext,
  on: AttachedTo,
  holder: Json,
  comment?: Json,
): Promise<void> {
  const { attachments, fullName, forge, stored } = context
  // A link to another host is lost, and counted again only if the files are requested.
  const isComplete = !stored?.losses?.some(({ kind }) => kind === 'attachments')
  if (comment && forge.can.issueAssets && isStored(context, comment) && isComplete) {
    attachments.push(...storedAttachments(stored, (each) => isDeepStrictEqual(each, on)))
    return
  }
  const known = new Set(attachments.map(({ record }) => record.uuid))
  for (const file of await filesOf(context, holder, comment))
    if (!known.has(file.uuid)) attachments.push(attachmentRecord(fullName, on, holder, file))
}

export const storedAttachments = (
  stored: Group | undefined,
  isWanted: (on: AttachedTo) => boolean,
): IssueContext['attachments'] =>
  (stored?.records.attachments ?? []).flatMap((record) => {
    const file = stored?.files.find((each) => each.file === record.file)
    return file && isWanted(record.on) ? [{ record, file }] : []
  })

/** Returns whether the comment has not changed since an earlier read stored it. Notes its version for the next read. */
function isStored({ stored, seen }: IssueContext, comment: Json): boolean {
  const key = `comment/${json.integer(comment, 'id')}`
  const version = json.string(comment, 'updated_at')
  seen[key] = version
  return version !== '' && stored?.seen?.[key] === version
}

/**
 * Returns the files that the forge lists. If it cannot list them, returns those that the text links to, by the name of their download.
 */
async function filesOf(context: IssueContext, holder: Json, comment: Json | undefined) {
  const { forge, notes, losses, issueNumber, stored, signal } = context
  const onExternal = () => losses.add('attachments', 1, `#${issueNumber}: a link to another host`)
  // Some versions list files although their version number suggests otherwise.
  if (Array.isArray(holder.assets)) return listedFiles(holder, onExternal)
  const linked = linkedAttachments(json.string(holder, 'body'), forge.client.url)
  if (!forge.can.issueAssets) {
    notes.addNoIssueAssets(forge.version)
    const files: ListedFile[] = []
    for (const { uuid, name } of linked) {
      const known = stored?.records.attachments?.find((each) => each.uuid === uuid)?.name
      const sent = known ?? (await readFileName(forge.client, uuid, signal))
      files.push({ uuid, name: sent ?? name, size: null, createdAt: null })
    }
    return files
  }
  // A review does not list its files, but the comment that Gitea stores for it does.
  if (!comment) return []
  const part = `issues/comments/${json.integer(comment, 'id')}/assets`
  const assets = await ifExists(context, () => listUnpagedPart(context, part))
  return assets ? listedFiles({ assets }, onExternal) : []
}

/** Returns the reactions to a comment. If it has not changed, they are those of the stored record with this id. */
export async function commentReactions(
  context: IssueContext,
  kind: 'issue_comments' | 'pull_request_reviews' | 'pull_request_review_comments',
  comment: Json,
  recordId = json.integer(comment, 'id'),
): Promise<readonly Reaction[]> {
  const known = context.stored?.records[kind]?.find((each) => each.id === recordId)
  if (isStored(context, comment) && known) return known.reactions
  const part = `issues/comments/${json.integer(comment, 'id')}/reactions`
  // The comment may have been deleted since it was listed.
  const found = (await ifExists(context, () => listUnpagedPart(context, part, reactionKey))) ?? []
  context.people.collect(found)
  return reactionRecords(found)
}
