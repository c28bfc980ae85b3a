import { join } from 'node:path'
import type { Folder } from '../archive/read-folder.ts'
import { ArchiveRefused } from '../archive/unreadable-archive.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import {
  checkRepositories,
  describeMissingLfs,
  describeSkipped,
  readManifest,
} from '../formats/github-archive/check-repositories.ts'
import { refuseEdited } from '../formats/github-archive/compare-manifest.ts'
import {
  makeWorkDirectory,
  nearestExisting,
  refuseExisting,
  sweepWorkDirectories,
} from '../formats/output.ts'
import { extractionLimits, safeEntries } from '../formats/safe-entries.ts'
import { unpackArchive } from '../formats/unpack-archive.ts'
import type { Git } from '../git/git.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import { pathInArchive } from '../records/record-urls.ts'
import { installRepository, metadataWriter } from './install-repository.ts'
import { type Records, readRecords } from './records.ts'

export interface RestoreParts {
  git: Git
  /** Opens the archive from its beginning. It is called twice. */
  open(): Bytes | Folder
  /** The directory of a git host. Repositories are restored as OWNER/NAME.git in it. */
  into: string
  onEvent?(event: RestoreEvent): void
}

export type Restored = { fullName: string; errors: string[] }

export type RestoreEvent =
  /** Metadata that could not be restored, or data that the archive lacks. */
  | { warning: string }
  /** Records that a git host cannot store, by kind. */
  | { leftBehind: [kind: string, count: number][] }

/**
 * Restores every repository of an archive, or yields the errors of those that are damaged. Each repository is restored completely or
 * not at all. Nothing is written before the whole archive was read and every target was found to be free.
 */
export async function* restoreArchive(
  parts: RestoreParts,
  signal: AbortSignal,
): AsyncGenerator<Restored> {
  const { git, open, into } = parts
  await sweepWorkDirectories(into)
  const folders = await repositoryFolders(open(), into, signal)
  await refuseExisting(into, folders)
  await using work = await makeWorkDirectory(into)
  const unpacked = await unpackArchive(open(), join(work.path, 'unpacked'), signal)
  if (unpacked.damage) throw unpacked.damage
  const manifest = await readManifest(unpacked.root)
  const warnings = new LimitedLines(({ text }) => parts.onEvent?.({ warning: text }))
  if (manifest) {
    await refuseEdited(unpacked.root, manifest)
    for (const each of describeSkipped(manifest)) warnings.add('skipped repositories', each)
  }
  const records = await readRecords(unpacked.root)
  const denials: Denials = new Map()
  for (const each of records.errors) warnings.add('record files', each)
  for (const { text } of records.warnings) parts.onEvent?.({ warning: text })
  const writeMetadata = metadataWriter(records)
  const options = { git, scratch: work.path, signal }
  for await (const checked of checkRepositories(unpacked, manifest, options)) {
    const { fullName } = checked
    if ('snapshot' in checked) {
      for (const each of await describeMissingLfs(fullName, checked.snapshot, manifest))
        warnings.add('LFS objects', each)
      for (const each of await writeMetadata(checked)) warnings.add('metadata', each)
      denials.set(fullName, checked.snapshot.examination.repository.preserved.denials)
      await installRepository(checked.snapshot, join(into, `${fullName}.git`))
    }
    yield { fullName, errors: 'errors' in checked ? checked.errors : [] }
  }
  warnings.end()
  parts.onEvent?.({ leftBehind: countLeftBehind(records, denials) })
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
async function repositoryFolders(
  archive: Bytes | Folder,
  into: string,
  signal: AbortSignal,
): Promise<Set<string>> {
  const folders = new Set<string>()
  const limits = await extractionLimits(nearestExisting(into))
  for await (const { path } of safeEntries(archive, limits, signal)) {
    const [top, owner, folder] = path.split('/')
    if (top === 'repositories' && folder?.endsWith('.git')) folders.add(`${owner}/${folder}`)
  }
  if (folders.size === 0) throw new ArchiveRefused('it holds no repositories')
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

/** Counts the branch protection rules that the config of the restored repository enforces completely. */
function countRestoredRules(
  { repositories, protectedBranches }: Records,
  denials: Denials,
): number {
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
