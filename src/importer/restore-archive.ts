import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import type { Manifest } from '../archive/manifest.ts'
import type { Folder } from '../archive/read-folder.ts'
import { ArchiveRefused } from '../archive/unreadable-archive.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import type { Git } from '../git/git.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import { pathInArchive } from '../records/record-addresses.ts'
import { installRepository, repositoryDescriber } from './install-repository.ts'
import { missingLfs, skippedRepositories } from './lacking-data.ts'
import { metadataDisagreements } from './manifest-agreement.ts'
import { type Records, readRecords } from './records.ts'
import { extractionLimits, safeEntries } from './safe-entries.ts'
import { checkRepositories, readManifest } from './unpacked-repositories.ts'
import { entriesOf, nearestExisting, sweepWorkDirectories, unpackBeside } from './work-directory.ts'

export interface RestoreParts {
  git: Git
  /** The archive from its beginning; it is read twice. */
  open(): Bytes | Folder
  /** The git host: repositories go to OWNER/NAME.git in it. */
  into: string
  tell?(news: RestoreEvents): void
}

export type Restored = { fullName: string; faults: string[] }

/** What is to be told beside what became of each repository. */
export type RestoreEvents =
  /** Where metadata was not as it should be, and what that cost; and what the archive lacks. */
  | { warning: string }
  /** What the archive holds and a git host has no place for, by kind. */
  | { leftBehind: [kind: string, count: number][] }

/**
 * Gives every repository of an archive back, each whole or not at all, with the reasons where it could not be. Nothing is
 * written before the archive has been read to its end and every place was found free.
 */
export async function* restoreArchive(
  { git, open, into, tell = () => {} }: RestoreParts,
  signal: AbortSignal,
): AsyncGenerator<Restored> {
  await sweepWorkDirectories(into)
  const folders = await repositoryFolders(open(), into, signal)
  await refuseExisting(into, folders)
  await using workplace = await unpackBeside(into, open(), signal)
  const { unpacked } = workplace
  const manifest = await readManifest(unpacked.root)
  const warnings = new LimitedLines(({ text }) => tell({ warning: text }))
  if (manifest) {
    await refuseEdited(unpacked.root, manifest)
    for (const each of skippedRepositories(manifest)) warnings.add('skipped repositories', each)
  }
  const records = await readRecords(unpacked.root)
  const denials: Denials = new Map()
  for (const each of records.faults) warnings.add('record files', each)
  for (const { text } of records.warnings) tell({ warning: text })
  const describe = repositoryDescriber(records)
  for await (const judged of checkRepositories(
    unpacked,
    manifest,
    { git, scratch: workplace.path },
    signal,
  )) {
    const { fullName } = judged
    if ('snapshot' in judged) {
      for (const each of await missingLfs(fullName, judged.snapshot, manifest))
        warnings.add('LFS objects', each)
      for (const each of await describe(judged)) warnings.add('metadata', each)
      denials.set(fullName, judged.snapshot.examination.repository.kept.denials)
      await installRepository(judged.snapshot, join(into, `${fullName}.git`))
    }
    yield { fullName, faults: 'faults' in judged ? judged.faults : [] }
  }
  warnings.end()
  tell({ leftBehind: leftBehind(records, rulesInConfigs(records, denials)) })
}

function leftBehind(
  { counts, repositories }: Records,
  keptRules: number,
): [kind: string, count: number][] {
  const labels = repositories.reduce((sum, each) => sum + (each.labels?.length ?? 0), 0)
  const restored = ['users', 'bots', 'organizations', 'repositories']
  return [...counts, ['labels', labels] as [string, number]]
    .map(([kind, count]): [string, number] => [
      kind,
      kind === 'protected_branches' ? count - keptRules : count,
    ])
    .filter(([kind, count]) => count > 0 && !restored.includes(kind))
}

/** Who may read a repository, and who may do what there, is written in the metadata. */
export async function refuseEdited(root: string, manifest: Manifest): Promise<void> {
  const [first, ...more] = (await metadataDisagreements(root, manifest)) ?? []
  if (first === undefined) return
  throw new ArchiveRefused(more.length > 0 ? `${first}; and ${more.length} more like it` : first)
}

/** `OWNER/NAME.git` for each, once the whole archive was read and found harmless. */
export async function repositoryFolders(
  archive: Bytes | Folder,
  into: string,
  signal: AbortSignal,
): Promise<Set<string>> {
  const folders = new Set<string>()
  for await (const { path } of safeEntries(
    archive,
    await extractionLimits(nearestExisting(into)),
    signal,
  )) {
    const [top, owner, folder] = path.split('/')
    if (top === 'repositories' && folder?.endsWith('.git')) folders.add(`${owner}/${folder}`)
  }
  if (folders.size === 0) throw new ArchiveRefused('it holds no repositories')
  return folders
}

/** Names are one without regard to case, as they are wherever repositories are served. */
export async function refuseExisting(into: string, folders: ReadonlySet<string>): Promise<void> {
  const owners = await entriesByKey(into)
  for (const folder of folders) {
    const [owner = '', name = ''] = folder.split('/')
    const there = owners.get(owner.toLowerCase())
    if (!there) continue
    const home = join(into, there.name)
    // A link could lead anywhere, and no git host follows it.
    if (!there.isDirectory()) throw new ArchiveRefused(`${home} is there and is no directory`)
    const taken = (await entriesByKey(home)).get(name.toLowerCase())
    if (taken)
      throw new ArchiveRefused(
        `${join(home, taken.name)} is there already; move it away, or restore into another directory`,
      )
    if (there.name !== owner)
      throw new ArchiveRefused(`${owner} differs only in case from ${there.name}, which is there`)
  }
}

async function entriesByKey(folder: string): Promise<Map<string, Dirent>> {
  return new Map((await entriesOf(folder)).map((entry) => [entry.name.toLowerCase(), entry]))
}

/** What restored repositories refuse of pushes, as settings of `receive`, by their full names. */
type Denials = Map<string, [name: string, value: string][]>

type Rule = Record<string, unknown>

const NEEDS: [field: string, denial: string][] = [
  ['block_deletions_enforcement_level', 'denyDeletes'],
  ['block_force_pushes_enforcement_level', 'denyNonFastForwards'],
]
/** What a rule may say besides, and a git host has no setting for. */
const MORE = [
  'dismiss_stale_reviews_on_push',
  'require_code_owner_review',
  'strict_required_status_checks_policy',
  'authorized_actors_only',
  'requires_approving_reviews',
  'requires_commit_signatures',
  'requires_linear_history',
  'requires_status_checks',
  'restricts_review_dismissals',
]

/** How many rules for branches say nothing that the config of the restored repository does not say as well. */
function rulesInConfigs(
  { repositories, protectedBranches }: Pick<Records, 'repositories' | 'protectedBranches'>,
  denials: Denials,
): number {
  const paths = new Map(repositories.map(({ url, git_url }) => [url, pathInArchive(git_url)]))
  return protectedBranches.filter((each) => {
    const rule = each as Rule
    const path = paths.get(String(rule.repository_url))
    const [, fullName = ''] = /^repositories\/(.+)\.git$/.exec(path ?? '') ?? []
    const said = denials.get(fullName) ?? []
    const isDenied = (name: string) => said.some(([key, value]) => key === name && value === 'true')
    const isInConfig = NEEDS.every(([field, denial]) => rule[field] === 0 || isDenied(denial))
    return isInConfig && MORE.every((field) => rule[field] === false)
  }).length
}
