import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { moveDurably, moveTo, syncTree, undoAndThrow } from '../formats/output.ts'
import { oneLine } from '../lib/terminal-text.ts'
import type { RepositoryRecord } from '../records/record-shapes.ts'
import { pathInArchive } from '../records/record-urls.ts'
import { parseDescription } from '../sources/description.ts'
import type { Snapshot } from '../sources/snapshot.ts'
import type { Records } from './records.ts'

/** Moves a verified repository and its wiki to their target. Both are complete and durable afterwards, or neither exists. */
export async function installRepository(
  { repository, wiki }: Pick<Snapshot, 'repository' | 'wiki'>,
  target: string,
): Promise<void> {
  await syncTree(repository.dir)
  if (wiki) await syncTree(wiki.dir)
  const wikiTarget = target.replace(/\.git$/, '.wiki.git')
  await moveDurably(dirname(target), async () => {
    // The wiki goes first, so that a crash in between leaves no repository without its wiki.
    if (wiki) await moveTo(wiki.dir, wikiTarget)
    const undo = async () => {
      if (wiki) await rm(wikiTarget, { recursive: true })
    }
    await moveTo(repository.dir, target).catch((error: unknown) => undoAndThrow(error, undo))
  })
}

/**
 * Returns a function that writes the metadata of a repository into its git directory and returns warnings. A repository without a
 * record stays private.
 */
export function metadataWriter({ users, organizations, repositories }: Records) {
  // If two records have the same path, the first is used.
  const records = new Map(
    repositories.toReversed().map((each) => [pathInArchive(each.git_url), each]),
  )
  const logins = new Map(users.map(({ url, login }) => [url, login]))
  const organizationUrls = new Set(organizations.map(({ url }) => url))
  return async ({ fullName, snapshot }: { fullName: string; snapshot: Snapshot }) => {
    const { dir } = snapshot.repository
    const record = records.get(`repositories/${fullName}.git`)
    if (!record) return [`${fullName} has no record that can be read: it is restored as private`]
    const context = {
      hasWiki: snapshot.wiki !== null,
      isOrganization: organizationUrls.has(record.owner),
      logins,
    }
    await appendFile(join(dir, 'config'), configSection(record, context))
    await setDefaultBranch(snapshot, record.default_branch)
    const file = join(dir, 'description')
    const description = oneLine(record.description ?? '')
    // An unchanged file stays as it is, so that the next export has the same bytes.
    if (parseDescription(await readFile(file)) !== description)
      await writeFile(file, `${description}\n`)
    if (!record.private) await writeFile(join(dir, 'git-daemon-export-ok'), '')
    return (record.collaborators ?? [])
      .filter(({ user }) => !logins.has(user))
      .map(({ user }) => `${fullName}: the collaborator ${user} has no record, and is skipped`)
  }
}

/** Sets HEAD to the default branch of the record, if there is such a branch. Names of refs are byte strings. */
async function setDefaultBranch(
  { repository, examination }: Snapshot,
  branch: string | undefined,
): Promise<void> {
  if (branch === undefined) return
  const { head, refs } = examination.repository
  const name = `refs/heads/${Buffer.from(branch).toString('latin1')}`
  if (('target' in head && head.target === name) || !refs.some((ref) => ref.name === name)) return
  await writeFile(join(repository.dir, 'HEAD'), `ref: ${name}\n`, 'latin1')
}

interface RepositoryContext {
  hasWiki: boolean
  /** Whether the owner is an organization. */
  isOrganization: boolean
  /** By the URL of the user. */
  logins: ReadonlyMap<string, string>
}

type ConfigValue = [key: string, value: string | boolean | null | undefined]

/**
 * Returns a `[godwit]` section with the fields of a record that git has no setting for. It is read when the repository is served or
 * exported again. An archive does not contain what the repository was forked or generated from.
 */
function configSection(
  record: RepositoryRecord,
  { hasWiki, isOrganization, logins }: RepositoryContext,
): string {
  const settings = record.general_settings
  const topics = record.repository_topics ?? []
  const collaborators = record.collaborators ?? []
  const values: ConfigValue[] = [
    ['ownerType', isOrganization ? 'Organization' : undefined],
    ['homepage', record.website],
    ['archived', record.is_archived],
    ['isTemplate', settings?.template],
    ['hasIssues', record.has_issues],
    ['hasProjects', settings?.projects],
    // An existing wiki turns the setting on by default.
    ['hasWiki', record.has_wiki === hasWiki ? undefined : record.has_wiki],
    ['hasDownloads', record.has_downloads],
    ['allowMergeCommit', settings?.merge_commit],
    ['allowSquashMerge', settings?.squash_merge],
    ['allowRebaseMerge', settings?.rebase_merge],
    ['deleteBranchOnMerge', settings?.delete_branch_heads],
    ...topics.map(({ topic_name }): ConfigValue => ['topic', topic_name]),
    ...collaborators.map(({ user, permission }): ConfigValue => {
      const login = logins.get(user)
      return ['collaborator', login && `${login}:${permission}`]
    }),
  ]
  const lines = values.flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [`\t${key} = ${quoted(String(value))}\n`],
  )
  return `[godwit]\n${lines.join('')}`
}

/** Puts a value on one line and in quotes, so that it cannot begin another setting. */
function quoted(value: string): string {
  return `"${oneLine(value).replace(/["\\]/g, '\\$&')}"`
}
