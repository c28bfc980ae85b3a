import { join } from 'node:path'
import type { ObjectFile } from '@godwit/git/snapshot'
import { digestOf } from '@godwit/lib/file-digest'
import type { Issue } from '../../records/issue.ts'
import type { AttachedTo, Attachment } from '../../records/release.ts'
import type { ProtectedBranch, Repository } from '../../records/repository.ts'
import { linkOrCopy } from '../output.ts'
import type { DumpContext, DumpedTeam } from './dump-context.ts'
import { YamlList } from './yaml-json.ts'

/**
 * The file in the dump of a repository with everything that `restore-repo` does not restore, for `godwit finish`. It is a JSON list
 * with one record on each line, the settings first. People have their old logins.
 */
export const FINISH_FILE = 'finish.json'

export type FinishRecord =
  | SettingsRecord
  | LfsRecord
  | ({ kind: 'team' } & DumpedTeam)
  | ({ kind: 'protection' } & ProtectedBranch)
  | AttachmentRecord
  | IssueRecord

export interface SettingsRecord
  extends Pick<Repository, 'private' | 'defaultBranch' | 'collaborators'> {
  kind: 'settings'
  /** The owner and name on the new server. */
  owner: string
  name: string
  archived: boolean
  template: boolean
  website: string
  topics: readonly string[]
  /** The new logins by the old ones in lower case, from the people file of the conversion. */
  people: Readonly<Record<string, string>>
}

export interface LfsRecord {
  kind: 'lfs'
  oid: string
  size: number
  /** Relative to the dump, like every `file`. */
  file: string
}

export interface AttachmentRecord extends Pick<Attachment, 'name' | 'contentType' | 'file'> {
  kind: 'attachment'
  /** The address that texts of the dump link to. Null if it is not known. */
  address: string | null
  on: AttachedText
  bytes: number
  sha256: string
}

/**
 * The text that an attachment belongs to. Comments get new ids on the server, so a comment is named by its second and its rank among the
 * comments of that second. `none` stands for texts that are not restored.
 */
export type AttachedText =
  | { kind: 'issue' | 'review'; number: number }
  | { kind: 'comment'; number: number; second: number; rank: number }
  | { kind: 'release'; tag: string }
  | { kind: 'none' }

export interface IssueRecord extends Pick<Issue, 'number' | 'assignees' | 'dueOn' | 'pinOrder'> {
  kind: 'issue'
  locked: boolean
  /** `owner/name` on the new server, or null if the repository is not in the dump. */
  dependsOn: readonly { repository: string | null; number: number }[]
}

/** Writes `finish.json` and `attachments/`. Returns how many things of each kind `restore-repo` does not restore. */
export async function dumpFinishRecords(
  context: DumpContext,
  lfsObjects: readonly ObjectFile[],
): Promise<Map<string, number>> {
  const { repository, records, teams, directory, owner, name, people, destinations } = context
  using list = new YamlList(join(directory, FINISH_FILE))
  const counts = new Map<string, number>()
  const count = (kind: string, by = 1) => by > 0 && counts.set(kind, (counts.get(kind) ?? 0) + by)
  const add = (record: FinishRecord) => list.add(record)
  const { website, archived, template, defaultBranch, topics, collaborators } = repository
  add({
    kind: 'settings',
    owner,
    name,
    private: repository.private,
    defaultBranch,
    collaborators,
    archived: archived ?? false,
    template: template ?? false,
    website: website ?? '',
    topics: (topics ?? []).map((topic) => topic.name),
    people: Object.fromEntries(Array.from(people, ([old, { login }]) => [old, login])),
  })
  count('settings', [website, archived, template].filter(Boolean).length)
  count('collaborators', collaborators.length)
  for (const { path, size } of lfsObjects)
    add({ kind: 'lfs', oid: path.split('/').at(-1)!, size, file: `git/${path}` })
  count('LFS objects', lfsObjects.length)
  for (const team of teams) add({ kind: 'team', ...team })
  count('teams', teams.length)
  for (const rule of records.all('protected_branches')) add({ kind: 'protection', ...rule })
  count('protected branches', records.count('protected_branches'))
  for await (const record of dumpAttachments(context)) {
    add(record)
    count('attachments')
  }
  for (const kind of ['issues', 'pull_requests'] as const)
    for (const issue of records.all(kind)) {
      const { number, assignees, dueOn, pinOrder } = issue
      const locked = records.isLocked(number)
      const dependsOn = (issue.dependsOn ?? []).map(({ repository: on, number }) => {
        const to = destinations.get(on.toLowerCase())
        return { repository: to ? `${to.owner}/${to.name}` : null, number }
      })
      count('assignees', assignees.length)
      count('deadlines', dueOn ? 1 : 0)
      count('dependencies', dependsOn.length)
      count('pins', pinOrder ? 1 : 0)
      if (assignees.length + dependsOn.length > 0 || dueOn || pinOrder || locked)
        add({ kind: 'issue', number, assignees, locked, dependsOn, dueOn, pinOrder })
    }
  return counts
}

async function* dumpAttachments(context: DumpContext): AsyncGenerator<AttachmentRecord> {
  const { records, directory, content, signal } = context
  let folders = 0
  for (const attachment of records.all('attachments')) {
    signal.throwIfAborted()
    const found = await records.findFile(content, 'attachments', attachment.file)
    if (!found) continue
    const file = join('attachments', String(++folders), attachment.file.split('/').at(-1)!)
    await linkOrCopy(found.file, join(directory, file))
    const { name, contentType } = attachment
    const isFile = !('on' in attachment)
    yield {
      kind: 'attachment',
      name,
      contentType,
      file,
      bytes: found.bytes,
      address: isFile ? null : (attachment.oldUrl ?? null),
      on: isFile ? { kind: 'none' } : attachedTextOf(context, attachment.on),
      sha256: await digestOf(found.file, {}, signal),
    }
  }
}

function attachedTextOf({ records }: DumpContext, on: AttachedTo): AttachedText {
  switch (on.kind) {
    case 'issue':
    case 'pull_request':
      return { kind: 'issue', number: on.number }
    case 'issue_comment': {
      const { number } = on.on
      const comments = records.of('issue_comments', number)
      const index = comments.findIndex(({ id }) => id === on.id)
      if (index === -1) return { kind: 'issue', number }
      const seconds = comments.map(({ createdAt }) => Math.floor(Date.parse(createdAt) / 1000))
      const second = seconds[index]!
      return { kind: 'comment', number, second, rank: index - seconds.indexOf(second) }
    }
    case 'pull_request_review':
    case 'pull_request_review_comment':
      return { kind: 'review', number: on.pull }
    case 'release':
      return { kind: 'release', tag: on.tag }
    default:
      return { kind: 'none' }
  }
}
