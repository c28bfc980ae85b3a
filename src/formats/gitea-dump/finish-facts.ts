import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Issue, IssueComment } from '../../records/issue.ts'
import type { PullRequest } from '../../records/pull-request.ts'
import type { AttachedTo, Attachment, RepositoryFile } from '../../records/release.ts'
import type { ProtectedBranch } from '../../records/repository.ts'
import type { ObjectFile } from '../../sources/snapshot.ts'
import { digestOf } from '../github-archive/compare-manifest.ts'
import { linkOrCopy } from '../output.ts'
import type { PeopleMap } from '../people.ts'
import type { Destinations } from './choose-destinations.ts'
import { type DumpContext, isLocked } from './dump-context.ts'
import type { DumpedTeam } from './spool-facts.ts'
import { YamlList } from './yaml-json.ts'

/**
 * The file in the dump of a repository with everything that `restore-repo` does not restore, for `godwit finish`. It is a JSON list
 * with one fact on each line, the settings first. People have their old logins.
 */
export const FINISH_FILE = 'finish.json'

export type FinishFact =
  | SettingsFact
  | LfsFact
  | ({ kind: 'team' } & DumpedTeam)
  | ({ kind: 'protection' } & ProtectedBranch)
  | AttachmentFact
  | IssueFact

export interface SettingsFact {
  kind: 'settings'
  /** The owner and name on the new server. */
  owner: string
  name: string
  private: boolean
  archived: boolean
  template: boolean
  website: string
  defaultBranch: string | null
  topics: readonly string[]
  collaborators: readonly { login: string; permission: string }[]
  /** The new logins by the old ones in lower case, from the people file of the conversion. */
  people: Readonly<Record<string, string>>
}

export interface LfsFact {
  kind: 'lfs'
  oid: string
  size: number
  /** Relative to the dump, like every `file`. */
  file: string
}

export interface AttachmentFact {
  kind: 'attachment'
  /** The address that texts of the dump link to. Null if it is not known. */
  address: string | null
  on: AttachmentPlace
  name: string
  contentType: string
  file: string
  bytes: number
  sha256: string
}

/**
 * The text that an attachment belongs to. Comments get new ids on the server, so a comment is named by its second and its rank among the
 * comments of that second. `none` stands for texts that are not restored.
 */
export type AttachmentPlace =
  | { kind: 'issue' | 'review'; number: number }
  | { kind: 'comment'; number: number; second: number; rank: number }
  | { kind: 'release'; tag: string }
  | { kind: 'none' }

export interface IssueFact {
  kind: 'issue'
  number: number
  assignees: readonly string[]
  dueOn?: string | undefined
  pinOrder?: number | undefined
  locked: boolean
  /** `owner/name` on the new server, or null if the repository is not in the dump. */
  dependsOn: readonly { repository: string | null; number: number }[]
}

/** Writes `finish.json` and `attachments/`. Returns how many things of each kind `restore-repo` does not restore. */
export async function dumpFinishFacts(
  context: DumpContext,
  {
    people,
    destinations,
    lfsObjects,
  }: { people: PeopleMap; destinations: Destinations; lfsObjects: readonly ObjectFile[] },
  signal: AbortSignal,
): Promise<Map<string, number>> {
  const { repository, rows, directory, owner, name } = context
  const list = new YamlList(join(directory, FINISH_FILE))
  const counts = new Map<string, number>()
  const count = (kind: string, by = 1) => by > 0 && counts.set(kind, (counts.get(kind) ?? 0) + by)
  const add = (fact: FinishFact) => list.add(fact)
  const { website, archived, template, defaultBranch, topics, collaborators } = repository
  add({
    ...{ kind: 'settings', owner, name, private: repository.private, defaultBranch, collaborators },
    ...{ archived: archived ?? false, template: template ?? false, website: website ?? '' },
    topics: (topics ?? []).map((topic) => topic.name),
    people: Object.fromEntries(Array.from(people, ([old, { login }]) => [old, login])),
  })
  count('settings', [website, archived, template].filter(Boolean).length)
  count('collaborators', collaborators.length)
  for (const { path, size } of lfsObjects)
    add({ kind: 'lfs', oid: path.split('/').at(-1)!, size, file: `git/${path}` })
  count('LFS objects', lfsObjects.length)
  for (const [, team] of rows.all<DumpedTeam>('teams')) add({ kind: 'team', ...team })
  count('teams', rows.count('teams'))
  for (const [, rule] of rows.all<ProtectedBranch>('protections'))
    add({ kind: 'protection', ...rule })
  count('protected branches', rows.count('protections'))
  for await (const fact of dumpAttachments(context, signal)) {
    add(fact)
    count('attachments')
  }
  for (const table of ['issues', 'pulls'] as const)
    for (const [number, issue] of rows.all<Issue | PullRequest>(table)) {
      const { assignees, dueOn, pinOrder } = issue
      const locked = isLocked(context, number)
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
  list.close()
  return counts
}

async function* dumpAttachments(
  context: DumpContext,
  signal: AbortSignal,
): AsyncGenerator<AttachmentFact> {
  const { rows, directory, content, report, fullName } = context
  let folders = 0
  for (const [, attachment] of rows.all<Attachment | RepositoryFile>('attachments')) {
    signal.throwIfAborted()
    const found = await content.findFile(attachment.file, signal)
    if ('missing' in found) {
      report.lostRecord('attachments', `${fullName}: ${found.missing}`)
      continue
    }
    const folder = join('attachments', String(++folders))
    const file = join(folder, attachment.file.split('/').at(-1)!)
    await mkdir(join(directory, folder), { recursive: true })
    await linkOrCopy(found.file, join(directory, file))
    const { name, contentType } = attachment
    const isFile = !('on' in attachment)
    yield {
      ...{ kind: 'attachment', name, contentType, file, bytes: found.bytes },
      address: isFile ? null : (attachment.oldUrl ?? null),
      on: isFile ? { kind: 'none' } : placeOf(context, attachment.on),
      sha256: await digestOf(found.file, {}, signal),
    }
  }
}

function placeOf({ rows }: DumpContext, on: AttachedTo): AttachmentPlace {
  switch (on.kind) {
    case 'issue':
    case 'pull_request':
      return { kind: 'issue', number: on.number }
    case 'issue_comment': {
      const { number } = on.on
      const comments = rows.of<IssueComment>('comments', number)
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
