import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseDescription } from '@godwit/git/description'
import type { Git } from '@godwit/git/git'
import type { Snapshot } from '@godwit/git/snapshot'
import type { Bytes } from '@godwit/lib/bytes'
import { formatRecordCount, LimitedLines } from '@godwit/lib/findings'
import { oneLine } from '@godwit/lib/terminal-text'
import { UserError } from '@godwit/lib/user-error'
import { checkRepositories, describeSkipped, readManifest } from './formats/check-repositories.ts'
import { refuseEdited } from './formats/compare-manifest.ts'
import {
  makeWorkDirectory,
  moveDurably,
  moveTo,
  nearestExisting,
  refuseExisting,
  sweepWorkDirectories,
  syncTree,
  undoAndThrow,
} from './formats/output.ts'
import { extractionLimits, unpackArchive, validateEntries } from './formats/unpack-archive.ts'
import type { RepositoryRecord } from './records/read-records.ts'
import { pathInArchive } from './records/record-urls.ts'
import { type Records, readRecords } from './records.ts'
import type { Folder } from './tar/read-folder.ts'
import { ArchiveRefused } from './tar/unreadable-archive.ts'

export interface RestoreOptions {
  git: Git
  /** Opens the archive from its beginning. It is called twice. */
  open(): Bytes | Folder
  /** The directory of a git host. Repositories are restored as OWNER/NAME.git in it. */
  into: string
  /** `OWNER/NAME` of the repositories to restore. If empty, all are. */
  repositories?: readonly string[]
  /** Called with lines about metadata that could not be restored, data that the archive lacks, and records that no git host stores. */
  onNote?(line: string): void
}

/**
 * Restores every repository of an archive, or yields the errors of those that are damaged. Each repository is restored completely or
 * not at all. Nothing is written before the whole archive was read and every target was found to be free.
 */
export async function* restoreArchive(restoreOptions: RestoreOptions, signal: AbortSignal) {
  const { git, open, into, repositories = [] } = restoreOptions
  await sweepWorkDirectories(into)
  const wanted = new Set(repositories.map((name) => name.toLowerCase()))
  const isWanted = (fullName: string) => wanted.size === 0 || wanted.has(fullName.toLowerCase())
  const folders = await repositoryFolders(open(), into, signal)
  const names = [...folders].map((folder) => folder.slice(0, -'.git'.length))
  const chosen = names.filter((name) => isWanted(name) || isWanted(name.replace(/\.wiki$/, '')))
  const found = new Set(chosen.map((name) => name.toLowerCase()))
  const missing = repositories.filter((name) => !found.has(name.toLowerCase()))
  if (missing.length > 0) throw new UserError(`the archive does not hold ${missing.join(', ')}`)
  await refuseExisting(into, new Set(chosen.map((name) => `${name}.git`)))
  await using work = await makeWorkDirectory(into)
  const unpacked = await unpackArchive(open(), join(work.path, 'unpacked'), signal)
  if (unpacked.damage) throw unpacked.damage
  const manifest = await readManifest(unpacked.root)
  const warn = (text: string) => restoreOptions.onNote?.(`warning: ${text}`)
  const warnings = new LimitedLines(({ text }) => warn(text))
  if (manifest) {
    await refuseEdited(unpacked.root, manifest)
    for (const each of wanted.size === 0 ? describeSkipped(manifest) : [])
      warnings.add('skipped repositories', each)
  }
  const records = await readRecords(unpacked.root)
  const denials: Denials = new Map()
  for (const each of records.errors) warnings.add('record files', each)
  for (const { text } of records.warnings) warn(text)
  const writeMetadata = metadataWriter(records)
  const options = { git, scratch: work.path, isWanted, signal }
  for await (const checked of checkRepositories(unpacked, manifest, options)) {
    const { fullName } = checked
    if ('snapshot' in checked) {
      for (const each of await checked.missingLfs()) warnings.add('LFS objects', each)
      for (const each of await writeMetadata(checked)) warnings.add('metadata', each)
      denials.set(fullName, checked.snapshot.examination.repository.preserved.denials)
      await installRepository(checked.snapshot, join(into, `${fullName}.git`))
    }
    yield { fullName, errors: 'errors' in checked ? checked.errors : [] }
  }
  warnings.end()
  for (const [kind, count] of countLeftBehind(records, denials))
    restoreOptions.onNote?.(`skipped: ${formatRecordCount(kind, count)}`)
}

const RESTORED_KINDS = ['users', 'bots', 'organizations', 'repositories']

function countLeftBehind(records: Records, denials: Denials): [kind: string, count: number][] {
  const labels = records.repositories.reduce((sum, each) => sum + (each.labels?.length ?? 0), 0)
  const restoredRules = countRestoredRules(records, denials)
  const counts = new Map(records.counts)
  counts.set('labels', labels + (counts.get('labels') ?? 0))
  const rules = counts.get('protected_branches')
  if (rules !== undefined) counts.set('protected_branches', rules - restoredRules)
  return [...counts].filter(([kind, count]) => count > 0 && !RESTORED_KINDS.includes(kind))
}

/** Reads the whole archive, checks that it is safe to unpack, and returns `OWNER/NAME.git` of each repository. */
async function repositoryFolders(archive: Bytes | Folder, into: string, signal: AbortSignal) {
  const folders = new Set<string>()
  const limits = await extractionLimits(nearestExisting(into))
  for await (const { path } of validateEntries(archive, limits, signal)) {
    const [top, owner, folder] = path.split('/')
    if (top === 'repositories' && folder?.endsWith('.git')) folders.add(`${owner}/${folder}`)
  }
  if (folders.size === 0)
    throw new ArchiveRefused(
      'it holds no repositories; `godwit convert` reads project exports of GitLab',
    )
  return folders
}

/** The `receive.deny…` settings of restored repositories, by full name. */
type Denials = Map<string, [name: string, value: string][]>

const DENIALS: [field: string, setting: string][] = [
  ['block_deletions_enforcement_level', 'denyDeletes'],
  ['block_force_pushes_enforcement_level', 'denyNonFastForwards'],
]
/** Fields of a rule that have no setting in git. */
const FIELDS_WITHOUT_SETTING = [
  ...['dismiss_stale_reviews_on_push', 'require_code_owner_review', 'authorized_actors_only'],
  ...['strict_required_status_checks_policy', 'requires_approving_reviews'],
  ...['requires_commit_signatures', 'requires_linear_history', 'requires_status_checks'],
  'restricts_review_dismissals',
]

/** Counts the branch protection rules that the config of the restored repository enforces completely. */
function countRestoredRules({ repositories, protectedBranches }: Records, denials: Denials) {
  const paths = new Map(repositories.map(({ url, git_url }) => [url, pathInArchive(git_url)]))
  return protectedBranches.filter((each) => {
    const rule = each as Record<string, unknown>
    const path = paths.get(String(rule.repository_url))
    const [, fullName = ''] = /^repositories\/(.+)\.git$/.exec(path ?? '') ?? []
    const settings = denials.get(fullName) ?? []
    const isSet = (name: string) => settings.some((each) => each[0] === name && each[1] === 'true')
    return (
      DENIALS.every(([field, setting]) => rule[field] === 0 || isSet(setting)) &&
      FIELDS_WITHOUT_SETTING.every((field) => rule[field] === false)
    )
  }).length
}

/** Moves a verified repository and its wiki to their target. Both are complete and durable afterwards, or neither exists. */
async function installRepository(
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
function metadataWriter({ users, organizations, repositories }: Records) {
  // If two records have the same path, the first is used.
  const reversed = repositories.toReversed()
  const records = new Map(reversed.map((each) => [pathInArchive(each.git_url), each]))
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

/**
 * Sets HEAD to the default branch of the record, if there is such a branch. A detached HEAD stays, because there may be no other ref to
 * its commits. Names of refs are byte strings.
 */
async function setDefaultBranch({ repository, examination }: Snapshot, branch: string | undefined) {
  const { head, refs } = examination.repository
  if (branch === undefined || 'oid' in head) return
  const name = `refs/heads/${Buffer.from(branch).toString('latin1')}`
  if (head.target === name || !refs.some((ref) => ref.name === name)) return
  await writeFile(join(repository.dir, 'HEAD'), `ref: ${name}\n`, 'latin1')
}

type ConfigValue = [key: string, value: string | boolean | null | undefined]

/**
 * Returns a `[godwit]` section with the fields of a record that git has no setting for. It is read when the repository is served or
 * exported again. An archive does not contain what the repository was forked or generated from.
 */
function configSection(
  record: RepositoryRecord,
  context: { hasWiki: boolean; isOrganization: boolean; logins: ReadonlyMap<string, string> },
): string {
  const { hasWiki, isOrganization, logins } = context
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
