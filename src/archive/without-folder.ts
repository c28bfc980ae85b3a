import { MANIFEST_PATH, UPLOAD_FOLDERS } from './manifest.ts'
import type { ArchiveEntry } from './read-entries.ts'
import { ArchiveRefused } from './unreadable-archive.ts'

/** The last five are folders of GitLab's project exports. */
const FOLDERS = [
  'repositories',
  ...UPLOAD_FOLDERS,
  'tree',
  'uploads',
  'lfs-objects',
  'snippets',
  'avatar',
]
const FILES = [
  ...['schema.json', MANIFEST_PATH, 'VERSION', 'GITLAB_VERSION', 'GITLAB_REVISION', 'project.json'],
  ...['project.bundle', 'project.wiki.bundle', 'project.design.bundle', 'lfs-objects.json'],
].map(RegExp.escape)
const TOP_LEVEL_PATH = new RegExp(
  `^(?:${FILES.join('|')}|[a-z][a-z_]*_\\d{6}\\.json|(?:${FOLDERS.join('|')})/.+)$`,
  's',
)

const IN_UPLOADS = new RegExp(`(?:^|/)(?:${[...UPLOAD_FOLDERS, 'uploads'].join('|')})/`)

/** Whether macOS wrote this file beside another one, for the attributes of that. Uploaded files may have such names themselves. */
export const isMacMetadata = (path: string): boolean =>
  path.startsWith('._', path.lastIndexOf('/') + 1) && !IN_UPLOADS.test(path)

/**
 * Removes a folder that contains the whole archive, as `tar czf x.tgz folder/` creates it. The first file decides: if it belongs to
 * the top level of an archive, but is in a folder that does not, that folder is removed. All later entries must be in it. Leaves
 * metadata of macOS out.
 */
export async function* withoutFolder(
  entries: AsyncIterable<ArchiveEntry>,
): AsyncGenerator<ArchiveEntry> {
  /** Directories before the first file. They are held back until it is known which folder to remove. */
  let waiting: ArchiveEntry[] | undefined = []
  let around = ''
  for await (const entry of entries) {
    if (entry.kind === 'file' && isMacMetadata(entry.path)) continue
    if (waiting && entry.kind === 'directory') {
      waiting.push(entry)
      if (waiting.length < MAX_WAITING) continue
    }
    if (waiting) {
      around = entry.kind === 'file' ? folderAround(entry.path) : ''
      for (const each of waiting) yield* inside(each, around)
      waiting = undefined
      if (entry.kind === 'directory') continue
    }
    yield* inside(entry, around)
  }
  yield* waiting ?? []
}

const MAX_WAITING = 10_000

/** Returns the folder that contains the archive, with a trailing slash. Returns '' if there is none or the path is unknown. */
function folderAround(path: string): string {
  const parts = path.split('/')
  if (FOLDERS.includes(parts[0]!)) return ''
  for (let depth = 1; depth < parts.length; depth++)
    if (TOP_LEVEL_PATH.test(parts.slice(depth).join('/')))
      return `${parts.slice(0, depth).join('/')}/`
  return ''
}

function* inside(entry: ArchiveEntry, around: string): Generator<ArchiveEntry> {
  const { path, kind } = entry
  if (path.startsWith(around)) yield { ...entry, path: path.slice(around.length) }
  else if (kind !== 'directory' || !around.startsWith(`${path}/`))
    throw new ArchiveRefused(
      `${path} is beside ${around.slice(0, -1)}, which holds an archive: pack it from inside that folder`,
    )
}
