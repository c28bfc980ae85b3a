import { MANIFEST_PATH, STORED_FOLDERS } from './manifest.ts'
import type { ArchiveEntry } from './read-entries.ts'
import { ArchiveRefused } from './unreadable-archive.ts'

const FOLDERS = ['repositories', ...STORED_FOLDERS]
const AT_THE_TOP = new RegExp(
  `^(?:schema\\.json|${MANIFEST_PATH.replace('.', '\\.')}|[a-z][a-z_]*_\\d{6}\\.json|(?:${FOLDERS.join('|')})/.+)$`,
  's',
)

/**
 * The entries as they would be if whoever packed them had stood inside the folder: `tar czf x.tgz folder/` puts it before
 * every path. The first file tells: it is one that belongs at the top of an archive, below folders that do not. From then
 * on all of it must be below the same.
 */
export async function* withoutFolder(
  entries: AsyncIterable<ArchiveEntry>,
): AsyncGenerator<ArchiveEntry> {
  /** Directories have no content that would have to be read before the next is asked for. */
  let waiting: ArchiveEntry[] | undefined = []
  let around = ''
  for await (const entry of entries) {
    if (waiting && entry.kind === 'directory') {
      waiting.push(entry)
      if (waiting.length < MOST_WAITING) continue
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

const MOST_WAITING = 10_000

/** With a slash at its end; '' where the path is that of an archive as it should be, or of nothing that is known. */
function folderAround(path: string): string {
  const parts = path.split('/')
  if (FOLDERS.includes(parts[0]!)) return ''
  for (let depth = 1; depth < parts.length; depth++)
    if (AT_THE_TOP.test(parts.slice(depth).join('/'))) return `${parts.slice(0, depth).join('/')}/`
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
