import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { rewriteOutsideCode } from '../../formats/find-code.ts'
import type {
  AttachmentFact,
  AttachmentPlace,
  IssueFact,
} from '../../formats/gitea-dump/finish-facts.ts'
import { URLS, withoutPunctuation } from '../../formats/gitea-dump/rewrite-links.ts'
import { digestOf } from '../../formats/github-archive/compare-manifest.ts'
import { formatBytes } from '../../lib/quantities.ts'
import type { Json } from '../../sources/forge/client/forge-values.ts'
import * as json from '../../sources/forge/client/forge-values.ts'
import { ForgeRequestFailed } from '../../sources/forge-errors.ts'
import type { RepositoryContext } from './finish-run.ts'
import type { Operation } from './target-server.ts'

/** A text on the server. */
interface Text {
  /** Below `/api/v1`. */
  path: string
  /** What it is, for messages. */
  shown: string
  body: string
  updatedAt: string
}

type Found = Awaited<ReturnType<typeof scan>>

/** Uploads attachments, changes the links to them, and sets the properties of issues and pull requests. */
export async function finishIssues(
  context: RepositoryContext,
  attachments: readonly AttachmentFact[],
  issues: readonly IssueFact[],
): Promise<void> {
  if (attachments.length + issues.length === 0) return
  const found = await scan(context, attachments, issues)
  const newAddresses = new Map<string, string>()
  for (const attachment of attachments) {
    const uploaded = await finishAttachment(context, attachment, found)
    if (uploaded && attachment.address) newAddresses.set(attachment.address, uploaded)
  }
  for (const text of found.texts) await rewriteText(context, text, newAddresses)
  const assignable = await listAssignable(context, issues)
  for (const issue of issues) await finishIssue(context, issue, found, assignable)
  await pinIssues(context, issues, found)
}

/** Reads all issues, comments and releases once, and keeps those that may have to be changed. */
async function scan(
  context: RepositoryContext,
  attachments: readonly AttachmentFact[],
  issues: readonly IssueFact[],
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
      const all = found.comments.get(key) ?? []
      found.comments.set(key, all)
      all.push({ id, updatedAt: json.string(comment, 'updated_at') })
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

/** Returns the number and second of a comment, or '' for any other text. */
const commentKey = (on: AttachmentPlace): string =>
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
  attachment: AttachmentFact,
  found: Found,
): Promise<string | undefined> {
  const { run, directory, fullName } = context
  const { name, bytes, contentType } = attachment
  const key = journalKey(context, attachment)
  const known = run.journal.addressOf(key)
  if (known !== undefined) return known
  const place = choosePlace(context, attachment, found)
  if (!place) return undefined
  const keep = async (uploaded: Json) => {
    const address = json.string(uploaded, 'browser_download_url')
    found.claimed.add(json.string(uploaded, 'uuid'))
    await run.journal.record({ step: `${fullName}: ${name} is uploaded`, file: key, address })
    return address
  }
  const findAt = (path: string) => findUploaded(context, path, attachment, found.claimed)
  for (const path of [place.path, ...(place.alsoAt ?? [])]) {
    const existing = await findAt(path)
    if (existing) return await keep(existing)
  }
  let address = run.isDryRun ? DRY_RUN_ADDRESS : undefined
  let isFirstAttempt = true
  const upload = async () => {
    const path = join(directory, attachment.file)
    if ((await digestOf(path, {}, run.signal)) !== attachment.sha256)
      throw new ForgeRequestFailed(0, `${path} is damaged (SHA-256)`)
    // An earlier attempt may have reached the server.
    const existing = isFirstAttempt ? undefined : await findAt(place.path)
    isFirstAttempt = false
    const file = { path, name, contentType, bytes }
    address = await keep(existing ?? (await run.server.upload(place.path, file, place.query)))
  }
  const text = `${fullName}: upload ${name} (${formatBytes(bytes)}) to ${place.shown}`
  await run.step('attachments', text, upload)
  return address
}

/** The new address of every attachment in a dry run, which only names the texts that it would change. */
const DRY_RUN_ADDRESS = 'https://new.invalid/'

/** Contains the id of the repository, because a repository that is deleted and restored has no attachments. */
const journalKey = ({ run, repository }: RepositoryContext, { file }: AttachmentFact) =>
  `${run.server.url} ${json.integer(repository, 'id')} ${file}`

interface Place {
  path: string
  shown: string
  query: Record<string, string>
  /** Other paths where an earlier run may have uploaded the attachment. */
  alsoAt?: string[]
}

/** Returns where to upload an attachment. If that is not possible, records why and returns undefined. */
function choosePlace(
  { run, path, fullName }: RepositoryContext,
  { on, name, address }: AttachmentFact,
  found: Found,
): Place | undefined {
  const placeAt = (target: string, shown: string, operation: Operation, updatedAt: string) => {
    const what = operation === 'issueFiles' ? 'issues' : 'comments'
    if (!run.server.can(operation)) return run.leaveOutUnsupported(`attach files to ${what}`)
    const keepsTime = updatedAt !== '' && run.server.acceptsTime(operation)
    const query = keepsTime ? { updated_at: updatedAt } : {}
    return { path: `${target}/assets`, shown, query }
  }
  const onIssue = (number: number) => {
    const updatedAt = json.string(found.issues.get(number) ?? {}, 'updated_at')
    return placeAt(`${path}/issues/${number}`, `#${number}`, 'issueFiles', updatedAt)
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
      const target = `${path}/issues/comments/${comment.id}`
      return placeAt(target, `a comment of #${on.number}`, 'commentFiles', comment.updatedAt)
    }
    case 'review': {
      // The dump does not say which comment it is: it is the one that links to the attachment.
      const links = new Map([[address ?? '', '']])
      const comments = found.reviewComments.get(on.number) ?? []
      const text = found.texts.find(
        ({ path, body }) => comments.includes(path) && replaceAddresses(body, links) !== body,
      )
      if (text) return placeAt(text.path, text.shown, 'commentFiles', text.updatedAt)
      // An earlier run may have changed the link.
      const place = onIssue(on.number)
      return place && { ...place, alsoAt: comments.map((comment) => `${comment}/assets`) }
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
  { name, bytes, sha256 }: AttachmentFact,
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
      if (error instanceof ForgeRequestFailed) return asset
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
      throw new ForgeRequestFailed(200, 'the server did not change the text')
  }
  await run.step('texts', `${fullName}: change the links in ${shown}`, rewrite)
}

async function listAssignable({ run, path }: RepositoryContext, issues: readonly IssueFact[]) {
  const isNeeded = issues.some(({ assignees }) => assignees.length > 0)
  const people = isNeeded ? await run.server.list(`${path}/assignees`) : []
  return new Set(people.map((each) => json.loginOf(each).toLowerCase()))
}

async function finishIssue(
  context: RepositoryContext,
  issue: IssueFact,
  found: Found,
  assignable: ReadonlySet<string>,
): Promise<void> {
  const { run, path, fullName } = context
  const { number, dueOn } = issue
  const there = found.issues.get(number)
  if (!there) return void run.failed.push(`${fullName}: #${number} is not on the server`)
  const fields: Json = {}
  const texts: string[] = []
  const assigned = json.objects(there, 'assignees').map(json.loginOf)
  const added = await newAssignees(context, issue.assignees, { assigned, assignable })
  if (added.length > 0) {
    fields.assignees = [...assigned, ...added]
    texts.push(`assign #${number} to ${added.join(', ')}`)
  }
  if (dueOn && dayOf(json.string(there, 'due_date')) !== dayOf(dueOn)) {
    fields.due_date = dueOn
    texts.push(`set the deadline of #${number} to ${dayOf(dueOn)}`)
  }
  if (texts.length > 0) {
    if (run.server.hasField('EditIssueOption', 'updated_at'))
      fields.updated_at = json.string(there, 'updated_at')
    const change = () => run.server.write('PATCH', `${path}/issues/${number}`, fields)
    await run.step('assignees and deadlines', `${fullName}: ${texts.join(', ')}`, change)
  }
  if (issue.locked && !json.boolean(there, 'is_locked')) {
    const lock = () => run.server.write('PUT', `${path}/issues/${number}/lock`, {})
    if (run.server.can('locks')) await run.step('locks', `${fullName}: lock #${number}`, lock)
    else run.leaveOutUnsupported('lock issues')
  }
  if (issue.dependsOn.length > 0) await addDependencies(context, issue)
}

/** Returns the day in the time zone of the text: a server stores only the day of a deadline, and returns it in its own time zone. */
const dayOf = (time: string): string => time.slice(0, 10)

/** Returns the accounts to add. Those that may not be assigned are left out, because the server would refuse the whole change. */
async function newAssignees(
  { run, fullName, accountsOf }: RepositoryContext,
  wanted: readonly string[],
  { assigned, assignable }: { assigned: readonly string[]; assignable: ReadonlySet<string> },
): Promise<string[]> {
  const there = new Set(assigned.map((login) => login.toLowerCase()))
  return (await accountsOf(wanted)).filter((login) => {
    if (there.has(login.toLowerCase())) return false
    // In a dry run nobody got access yet.
    if (run.isDryRun || assignable.has(login.toLowerCase())) return true
    run.leaveOut(`${login} cannot be assigned in ${fullName}: the account may not write there`)
    return false
  })
}

async function addDependencies(
  { run, owner, path, fullName, settings }: RepositoryContext,
  { number, dependsOn }: IssueFact,
): Promise<void> {
  if (!run.server.can('dependencies'))
    return run.leaveOutUnsupported('set dependencies between issues', dependsOn.length)
  const list = `${path}/issues/${number}/dependencies`
  const readExisting = async () =>
    new Set(
      (await run.server.list(list)).map((each) => {
        const name = json.string(json.object(each, 'repository') ?? {}, 'full_name') || fullName
        return `${name}#${json.integer(each, 'number')}`.toLowerCase()
      }),
    )
  const existing = await readExisting()
  for (const { repository, number: on } of dependsOn) {
    if (repository === null) {
      run.leaveOut('dependencies on issues of repositories that are not in the dump')
      continue
    }
    const [ownerInDump = '', repo = ''] = repository.split('/')
    // With --owner, all repositories of the dump were restored under another owner.
    const newOwner = owner === settings.owner ? ownerInDump : owner
    const key = `${newOwner}/${repo}#${on}`
    if (existing.has(key.toLowerCase())) continue
    const add = async () => {
      if ((await readExisting()).has(key.toLowerCase())) return
      await run.server.write('POST', list, { owner: newOwner, repo, index: on })
    }
    await run.step('dependencies', `${fullName}: let #${number} depend on ${key}`, add)
  }
}

/** Pins issues in their old order, because a server puts the newest pin last. */
async function pinIssues(
  { run, path, fullName }: RepositoryContext,
  issues: readonly IssueFact[],
  found: Found,
): Promise<void> {
  const isPinned = (number: number) =>
    json.integer(found.issues.get(number) ?? {}, 'pin_order') !== 0
  const pinned = issues.filter(({ pinOrder, number }) => pinOrder && !isPinned(number))
  if (!run.server.can('pins')) return run.leaveOutUnsupported('pin issues', pinned.length)
  for (const { number } of pinned.sort((a, b) => a.pinOrder! - b.pinOrder!)) {
    const issue = `${path}/issues/${number}`
    const pin = async () => {
      const there = await run.server.find(issue)
      if (json.integer(there ?? {}, 'pin_order') === 0)
        await run.server.write('POST', `${issue}/pin`)
    }
    await run.step('pins', `${fullName}: pin #${number}`, pin)
  }
}
