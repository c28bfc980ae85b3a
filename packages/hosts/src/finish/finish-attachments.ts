import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { rewriteOutsideCode } from '@godwit/archive/formats/find-code'
import type {
  AttachedText,
  AttachmentRecord,
  IssueRecord,
} from '@godwit/archive/formats/gitea-dump/finish-records'
import { URLS, withoutPunctuation } from '@godwit/archive/formats/gitea-dump/rewrite-links'
import { digestOf } from '@godwit/lib/file-digest'
import { formatBytes } from '@godwit/lib/quantities'
import type { Operation } from '../forge/target-server.ts'
import { HostRequestFailed } from '../host-errors.ts'
import type { Json } from '../http/json-fields.ts'
import * as json from '../http/json-fields.ts'
import type { RepositoryContext } from './finish-run.ts'

/** A text on the server. */
interface Text {
  /** Below `/api/v1`. */
  path: string
  /** What it is, for messages. */
  shown: string
  body: string
  updatedAt: string
}

export type Found = Awaited<ReturnType<typeof scan>>

/** Reads all issues, comments and releases once, and keeps those that may have to be changed. */
export async function scan(
  context: RepositoryContext,
  attachments: readonly AttachmentRecord[],
  issues: readonly IssueRecord[],
) {
  const { run, path } = context
  const { server } = run
  const uploaded = attachments.map((each) => run.journal.addressOf(journalKey(context, each)))
  const found = {
    issues: new Map<number, Json>(),
    /** By `commentKey`. */
    comments: new Map<string, { id: number; updatedAt: string }[]>(),
    /** The ids of releases by their tags. */
    releases: new Map<string, number>(),
    /** The paths of the comments of reviews, by the number of the pull request. */
    reviewComments: new Map<number, string[]>(),
    /** The texts that may link to attachments on the old host. */
    texts: [] as Text[],
    /** The UUIDs of files on the server that belong to an attachment of the dump already. */
    claimed: new Set(uploaded.flatMap((address) => address?.split('/').at(-1) ?? [])),
  }
  const addresses = new Map(attachments.flatMap(({ address }) => (address ? [[address, '']] : [])))
  const addText = (shown: string, textPath: string, entry: Json) => {
    const body = json.string(entry, 'body')
    if (addresses.size > 0 && replaceAddresses(body, addresses) !== body)
      found.texts.push({ path: textPath, shown, body, updatedAt: json.string(entry, 'updated_at') })
  }
  const numbers = new Set(issues.map(({ number }) => number))
  for (const { on } of attachments) if ('number' in on) numbers.add(on.number)
  for await (const { entries } of server.pages(`${path}/issues`, { state: 'all' }))
    for (const issue of entries) {
      const number = json.integer(issue, 'number')
      addText(`#${number}`, `${path}/issues/${number}`, issue)
      const { body: _, ...fields } = issue
      if (numbers.has(number)) found.issues.set(number, fields)
    }
  if (attachments.length === 0) return found
  const commentKeys = new Set(attachments.map(({ on }) => commentKey(on)))
  for await (const { entries } of server.pages(`${path}/issues/comments`, {}))
    for (const comment of entries) {
      const url = json.string(comment, 'issue_url') || json.string(comment, 'pull_request_url')
      const [number, id] = [Number(url.split('/').at(-1)), json.integer(comment, 'id')]
      addText(`a comment of #${number}`, `${path}/issues/comments/${id}`, comment)
      const second = Math.floor(Date.parse(json.string(comment, 'created_at')) / 1000)
      const key = commentKey({ kind: 'comment', number, second, rank: 0 })
      if (!commentKeys.has(key)) continue
      found.comments
        .getOrInsertComputed(key, () => [])
        .push({ id, updatedAt: json.string(comment, 'updated_at') })
    }
  for (const release of await server.list(`${path}/releases`)) {
    const [tag, id] = [json.string(release, 'tag_name'), json.integer(release, 'id')]
    found.releases.set(tag, id)
    addText(`the release ${tag}`, `${path}/releases/${id}`, release)
  }
  const pulls = new Set(attachments.flatMap(({ on }) => (on.kind === 'review' ? [on.number] : [])))
  for (const number of pulls) {
    const paths: string[] = []
    for (const comment of await listReviewComments(context, number)) {
      const commentPath = `${path}/issues/comments/${json.integer(comment, 'id')}`
      paths.push(commentPath)
      addText(`a review of #${number}`, commentPath, comment)
    }
    found.reviewComments.set(number, paths)
  }
  return found
}

/** Uploads attachments, and changes the links to them in texts. */
export async function finishAttachments(
  context: RepositoryContext,
  attachments: readonly AttachmentRecord[],
  found: Found,
): Promise<void> {
  const newAddresses = new Map<string, string>()
  for (const attachment of attachments) {
    const uploaded = await finishAttachment(context, attachment, found)
    if (uploaded && attachment.address) newAddresses.set(attachment.address, uploaded)
  }
  for (const text of found.texts) await rewriteText(context, text, newAddresses)
}

/** Returns the number and second of a comment, or '' for any other text. */
const commentKey = (on: AttachedText): string =>
  on.kind === 'comment' ? `${on.number} ${on.second}` : ''

/** Lists the comments on lines, and those that contain the texts of reviews. */
async function listReviewComments({ run, path }: RepositoryContext, number: number) {
  const { server } = run
  const reviews = await server.list(`${path}/pulls/${number}/reviews`)
  const comments: Json[] = []
  for (const { id } of reviews)
    comments.push(...(await server.list(`${path}/pulls/${number}/reviews/${id}/comments`)))
  if (!server.can('timeline')) return comments
  const timeline = await server.list(`${path}/issues/${number}/timeline`)
  return [...comments, ...timeline.filter(({ type }) => type === 'review')]
}

/** Replaces addresses outside code, including those that a query or punctuation follows. */
function replaceAddresses(text: string, addresses: ReadonlyMap<string, string>): string {
  if (!text.includes('://')) return text
  return rewriteOutsideCode(text, (prose) =>
    prose.replace(URLS, (url) => {
      const address = addresses.has(url) ? url : withoutPunctuation(url.replace(/[?#].*/s, ''))
      return (addresses.get(address) ?? address) + url.slice(address.length)
    }),
  )
}

/** Uploads an attachment unless the server has it already. Returns its address there, or undefined if it was not uploaded. */
async function finishAttachment(
  context: RepositoryContext,
  attachment: AttachmentRecord,
  found: Found,
): Promise<string | undefined> {
  const { run, directory, fullName } = context
  const { name, bytes, contentType } = attachment
  const key = journalKey(context, attachment)
  const known = run.journal.addressOf(key)
  if (known !== undefined) return known
  const target = chooseTarget(context, attachment, found)
  if (!target) return undefined
  const keep = async (uploaded: Json) => {
    const address = json.string(uploaded, 'browser_download_url')
    found.claimed.add(json.string(uploaded, 'uuid'))
    await run.journal.record({ step: `${fullName}: ${name} is uploaded`, file: key, address })
    return address
  }
  const findAt = (path: string) => findUploaded(context, path, attachment, found.claimed)
  for (const path of [target.path, ...(target.alsoAt ?? [])]) {
    const existing = await findAt(path)
    if (existing) return await keep(existing)
  }
  let address = run.isDryRun ? DRY_RUN_ADDRESS : undefined
  let isFirstAttempt = true
  const upload = async () => {
    const path = join(directory, attachment.file)
    if ((await digestOf(path, {}, run.signal)) !== attachment.sha256)
      throw new HostRequestFailed(0, `${path} is damaged (SHA-256)`)
    // An earlier attempt may have reached the server.
    const existing = isFirstAttempt ? undefined : await findAt(target.path)
    isFirstAttempt = false
    const file = { path, name, contentType, bytes }
    address = await keep(existing ?? (await run.server.upload(target.path, file, target.query)))
  }
  const text = `${fullName}: upload ${name} (${formatBytes(bytes)}) to ${target.shown}`
  await run.step('attachments', text, upload)
  return address
}

/** The new address of every attachment in a dry run, which only names the texts that it would change. */
const DRY_RUN_ADDRESS = 'https://new.invalid/'

/** Contains the id of the repository, because a repository that is deleted and restored has no attachments. */
const journalKey = ({ run, repository }: RepositoryContext, { file }: AttachmentRecord) =>
  `${run.server.url} ${json.integer(repository, 'id')} ${file}`

/** Where an attachment is uploaded to. */
interface UploadTarget {
  path: string
  shown: string
  query: Record<string, string>
  /** Other paths where an earlier run may have uploaded the attachment. */
  alsoAt?: string[]
}

/** Returns where to upload an attachment. If that is not possible, records why and returns undefined. */
function chooseTarget(
  { run, path, fullName }: RepositoryContext,
  { on, name, address }: AttachmentRecord,
  found: Found,
): UploadTarget | undefined {
  const targetAt = (textPath: string, shown: string, operation: Operation, updatedAt: string) => {
    const what = operation === 'issueFiles' ? 'issues' : 'comments'
    if (!run.server.can(operation)) return run.leaveOutUnsupported(`attach files to ${what}`)
    const keepsTime = updatedAt !== '' && run.server.acceptsTime(operation)
    const query = keepsTime ? { updated_at: updatedAt } : {}
    return { path: `${textPath}/assets`, shown, query }
  }
  const onIssue = (number: number) => {
    const updatedAt = json.string(found.issues.get(number) ?? {}, 'updated_at')
    return targetAt(`${path}/issues/${number}`, `#${number}`, 'issueFiles', updatedAt)
  }
  const missing = (what: string): undefined =>
    void run.failed.push(`${fullName}: ${name}: ${what} is not on the server`)
  switch (on.kind) {
    case 'issue':
      return onIssue(on.number)
    case 'comment': {
      const comments = found.comments.get(commentKey(on)) ?? []
      const comment = comments.sort((a, b) => a.id - b.id)[on.rank]
      if (!comment) return missing(`its comment of #${on.number}`)
      const commentPath = `${path}/issues/comments/${comment.id}`
      return targetAt(commentPath, `a comment of #${on.number}`, 'commentFiles', comment.updatedAt)
    }
    case 'review': {
      // The dump does not say which comment it is: it is the one that links to the attachment.
      const links = new Map([[address ?? '', '']])
      const comments = found.reviewComments.get(on.number) ?? []
      const text = found.texts.find(
        ({ path, body }) => comments.includes(path) && replaceAddresses(body, links) !== body,
      )
      if (text) return targetAt(text.path, text.shown, 'commentFiles', text.updatedAt)
      // An earlier run may have changed the link.
      const target = onIssue(on.number)
      return target && { ...target, alsoAt: comments.map((comment) => `${comment}/assets`) }
    }
    case 'release': {
      const id = found.releases.get(on.tag)
      if (!id) return missing(`the release ${on.tag}`)
      return { path: `${path}/releases/${id}/assets`, shown: `the release ${on.tag}`, query: {} }
    }
    case 'none':
      return run.leaveOut('attachments of texts that restore-repo does not restore')
  }
}

/** Finds an attachment that was uploaded before by its name, size and content, or by name and size if it cannot be downloaded. */
async function findUploaded(
  { run }: RepositoryContext,
  path: string,
  { name, bytes, sha256 }: AttachmentRecord,
  claimed: ReadonlySet<string>,
): Promise<Json | undefined> {
  for (const asset of await run.server.list(path)) {
    const uuid = json.string(asset, 'uuid')
    const isSimilar = json.string(asset, 'name') === name && json.integer(asset, 'size') === bytes
    if (!isSimilar || claimed.has(uuid)) continue
    const hash = createHash('sha256')
    try {
      for await (const chunk of run.server.openAttachment(uuid, bytes)) hash.update(chunk)
    } catch (error) {
      // The server may redirect to an object storage.
      if (error instanceof HostRequestFailed) return asset
      throw error
    }
    if (hash.digest('hex') === sha256) return asset
  }
  return undefined
}

/** Changes the links in a text, which is read again because it may have been edited. Its author stays; its time stays on a Forgejo. */
async function rewriteText(
  { run, fullName }: RepositoryContext,
  { path, shown, body, updatedAt }: Text,
  addresses: ReadonlyMap<string, string>,
): Promise<void> {
  if (replaceAddresses(body, addresses) === body) return
  const option = /\/comments\/\d+$/.test(path) ? 'EditIssueCommentOption' : 'EditIssueOption'
  const isRelease = path.includes('/releases/')
  const time = !isRelease && run.server.hasField(option, 'updated_at') && { updated_at: updatedAt }
  const rewrite = async () => {
    const now = json.string((await run.server.find(path)) ?? { body }, 'body')
    const wanted = replaceAddresses(now, addresses)
    if (wanted === now) return
    const changed = await run.server.write('PATCH', path, { body: wanted, ...time })
    if (json.string(changed, 'body') !== wanted)
      throw new HostRequestFailed(200, 'the server did not change the text')
  }
  await run.step('texts', `${fullName}: change the links in ${shown}`, rewrite)
}
