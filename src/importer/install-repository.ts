import {
  appendFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode } from '../lib/errno.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import { oneLine } from '../lib/one-line.ts'
import { pathInArchive } from '../records/record-addresses.ts'
import type { RepositoryRecord } from '../records/record-shapes.ts'
import { describedBy } from '../sources/description.ts'
import type { Snapshot } from '../sources/snapshot.ts'
import type { Records } from './records.ts'

/** Moves a proven repository and its wiki to where they are served from: both whole and durable, or neither. */
export async function installRepository(
  { repository, wiki }: Pick<Snapshot, 'repository' | 'wiki'>,
  target: string,
): Promise<void> {
  await syncBelow(repository.dir)
  if (wiki) await syncBelow(wiki.dir)
  const wikiTarget = target.replace(/\.git$/, '.wiki.git')
  await moveBelow(dirname(target), async () => {
    // The wiki goes first: by itself it is of no account, and where the repository is, all of it is.
    if (wiki) await moveTo(wiki.dir, wikiTarget)
    const undo = async () => {
      if (wiki) await rm(wikiTarget, { recursive: true })
    }
    await moveTo(repository.dir, target).catch((error: unknown) => undone(error, undo))
  })
}

/** Moves something to below an owner's directory, and makes that durable. Where it fails, a directory that was there stays. */
export async function moveBelow(owner: string, move: () => Promise<void>): Promise<void> {
  const isNew = (await mkdir(owner, { recursive: true })) !== undefined
  const undo = async () => {
    if (isNew) await removeIfEmpty(owner)
  }
  await move().catch((error: unknown) => undone(error, undo))
  for (const folder of [owner, dirname(owner)]) await sync(folder)
}

/** A rename alone would replace an empty directory that is another's. */
export async function moveTo(from: string, to: string): Promise<void> {
  await mkdir(to)
  await rename(from, to).catch((error: unknown) => undone(error, () => rmdir(to)))
}

/** Throws what has failed; that the rest cannot be undone either is told beside it. */
async function undone(error: unknown, undo: () => Promise<void>): Promise<never> {
  try {
    await undo()
  } catch (second) {
    const [said, more] = [error, second].map((each) => (each as Error).message)
    throw new Error(`${said}; and then: ${more}`, { cause: error })
  }
  throw error
}

export interface Described {
  fullName: string
  snapshot: Pick<Snapshot, 'repository' | 'wiki' | 'examination'>
}

/**
 * Returns a function that puts what the archive says of a repository where a git host keeps it. In doubt it stays private. It
 * returns what could not be understood.
 */
export function repositoryDescriber({
  users,
  organizations,
  repositories,
}: Pick<Records, 'users' | 'organizations' | 'repositories'>) {
  const index: RecordIndex = {
    // Of two records for one path, the first counts.
    records: new Map(repositories.toReversed().map((each) => [pathInArchive(each.git_url), each])),
    logins: new Map(users.map(({ url, login }) => [url, login])),
    organizations: new Set(organizations.map(({ url }) => url)),
  }
  return (described: Described) => describeRepository(described, index)
}

interface RecordIndex {
  records: ReadonlyMap<string | undefined, RepositoryRecord>
  logins: ReadonlyMap<string, string>
  organizations: ReadonlySet<string>
}

async function describeRepository(
  { fullName, snapshot }: Described,
  { records, logins, organizations }: RecordIndex,
): Promise<string[]> {
  const { dir } = snapshot.repository
  const record = records.get(`repositories/${fullName}.git`)
  if (!record) return [`${fullName} has no record that can be read: it is restored as private`]
  const about = {
    hasWiki: snapshot.wiki !== null,
    isOrganization: organizations.has(record.owner),
    loginOf: (url: string) => logins.get(url),
  }
  await appendFile(join(dir, 'config'), statedConfig(record, about))
  await keepDefaultBranch(snapshot, record.default_branch)
  const file = join(dir, 'description')
  const description = oneLine(record.description ?? '')
  // As it was exported, where it says the same: then the next export comes out the same.
  if (describedBy(await readFile(file)) !== description) await writeFile(file, `${description}\n`)
  if (!record.private) await writeFile(join(dir, 'git-daemon-export-ok'), '')
  return (record.collaborators ?? [])
    .filter(({ user }) => !logins.has(user))
    .map(({ user }) => `${fullName}: the collaborator ${user} has no record, and is skipped`)
}

/** What the record says counts where there is such a branch; names of refs are byte strings. */
async function keepDefaultBranch(
  { repository, examination }: Described['snapshot'],
  branch: string | undefined,
): Promise<void> {
  if (branch === undefined) return
  const { head, refs } = examination.repository
  const name = `refs/heads/${Buffer.from(branch).toString('latin1')}`
  if (('target' in head && head.target === name) || !refs.some((ref) => ref.name === name)) return
  await writeFile(join(repository.dir, 'HEAD'), `ref: ${name}\n`, 'latin1')
}

export async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
  })
}

/** Few enough for any limit on open files. */
const SYNCED_AT_ONCE = 32

export async function syncBelow(dir: string): Promise<void> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  await mapConcurrent(entries, { lanes: SYNCED_AT_ONCE }, (entry) =>
    sync(join(entry.parentPath, entry.name)),
  )
  await sync(dir)
}

export async function sync(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}

interface About {
  hasWiki: boolean
  /** Whether its owner is one. */
  isOrganization: boolean
  loginOf(url: string): string | undefined
}

/**
 * What a record says of a repository and git has no place for, as the `[godwit]` section that gives it back when the
 * repository is served or exported again. An archive does not say what the repository is a fork of, or made from.
 */
function statedConfig(
  record: RepositoryRecord,
  { hasWiki, isOrganization, loginOf }: About,
): string {
  const settings = record.general_settings
  const collaborators = (record.collaborators ?? []).flatMap(({ user, permission }) => {
    const login = loginOf(user)
    return login === undefined ? [] : [`${login}:${permission}`]
  })
  const said: [key: string, value: string | boolean | null | undefined][] = [
    ['ownerType', isOrganization ? 'Organization' : undefined],
    ['homepage', record.website],
    ['archived', record.is_archived],
    ['isTemplate', settings?.template],
    ['hasIssues', record.has_issues],
    ['hasProjects', settings?.projects],
    // That there is one need not be said.
    ['hasWiki', record.has_wiki === hasWiki ? undefined : record.has_wiki],
    ['hasDownloads', record.has_downloads],
    ['allowMergeCommit', settings?.merge_commit],
    ['allowSquashMerge', settings?.squash_merge],
    ['allowRebaseMerge', settings?.rebase_merge],
    ['deleteBranchOnMerge', settings?.delete_branch_heads],
    ...(record.repository_topics ?? []).map(({ topic_name }): [string, string] => [
      'topic',
      topic_name,
    ]),
    ...collaborators.map((value): [string, string] => ['collaborator', value]),
  ]
  const lines = said.flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [`\t${key} = ${quoted(String(value))}\n`],
  )
  return `[godwit]\n${lines.join('')}`
}

/** On one line and in quotes, nothing in a value can begin another setting. */
function quoted(value: string): string {
  return `"${oneLine(value).replace(/["\\]/g, '\\$&')}"`
}
