import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { ArchiveEntry } from '../archive/read-entries.ts'
import type { Folder } from '../archive/read-folder.ts'
import { tarHeader, tarPadding } from '../archive/tar-header.ts'
import { ArchiveDamaged } from '../archive/unreadable-archive.ts'
import type { Bytes } from '../lib/bytes.ts'
import { onChunk } from '../lib/chunks.ts'
import { withWriteContext } from '../lib/disk-errors.ts'
import { hasCode } from '../lib/errno.ts'
import { kindOfFile } from '../records/record-file.ts'
import { extractionLimits, safeEntries } from './safe-entries.ts'

/** Length and CRC of the tar bytes of one repository and its wiki, to be compared with its segment in the manifest. */
export type TarChecksum = { plainLength: number; crc32: number }

export interface Unpacked {
  root: string
  /** By the full name of the repository, in the order of the archive. */
  checksums: ReadonlyMap<string, TarChecksum>
  /** Set if the archive is truncated or does not match its checksum. */
  damage: ArchiveDamaged | undefined
}

/**
 * Unpacks into `root`, which must not exist. If the archive is damaged, the entries before the damage stay and `damage` is set. Any
 * other error is thrown.
 */
export async function unpackArchive(archive: Bytes | Folder, root: string, signal: AbortSignal) {
  await mkdir(root)
  const checksums = new Map<string, TarChecksum>()
  const folders = new Set<string>()
  let current = ''
  try {
    for await (const entry of safeEntries(archive, await extractionLimits(root), signal)) {
      current = repositoryOf(entry.path, current)
      const checksum = checksums.get(current) ?? { plainLength: 0, crc32: 0 }
      if (current !== '') {
        checksums.set(current, checksum)
        folders.add(entry.path.split('/', 3).join('/'))
      }
      await writeEntry(root, entry, checksum)
    }
    for (const folder of folders) await addEmptyFolders(join(root, folder))
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error
    return { root, checksums, damage: error }
  }
  return { root, checksums, damage: undefined }
}

/** Lists the files of records in an unpacked archive, sorted by name. */
export async function listRecordFiles(root: string): Promise<{ file: string; kind: string }[]> {
  return (await readdir(root)).sort().flatMap((file) => {
    const kind = kindOfFile(file)
    return kind === undefined ? [] : [{ file, kind }]
  })
}

/**
 * Returns the full name of the repository that a path belongs to, or '' if it belongs to none. `a/b.wiki` right after `a/b` is its
 * wiki and in the same segment. Otherwise it is a repository.
 */
function repositoryOf(path: string, current: string): string {
  const [top, owner, folder] = path.split('/')
  if (top !== 'repositories' || !folder?.endsWith('.git')) return ''
  const name = `${owner}/${folder.slice(0, -'.git'.length)}`
  return name === `${current}.wiki` ? current : name
}

/** Some programs leave empty directories out of an archive, but git needs `refs` to recognize a repository. */
async function addEmptyFolders(repository: string): Promise<void> {
  for (const name of ['objects', 'refs'])
    await mkdir(join(repository, name), { recursive: true }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST', 'ENOTDIR')) throw error
    })
}

async function writeEntry(root: string, entry: ArchiveEntry, tar: TarChecksum): Promise<void> {
  const add = (bytes: Uint8Array) => {
    tar.crc32 = crc32(bytes, tar.crc32)
    tar.plainLength += bytes.length
  }
  const path = join(root, entry.path)
  // The header is rendered again, so that only the fields that Godwit writes are compared.
  add(tarHeader(entry))
  if (entry.kind === 'directory') {
    await mkdir(path, { recursive: true })
    return
  }
  await mkdir(dirname(path), { recursive: true })
  const content = onChunk(entry.content, add)
  await withWriteContext(path, () => writeFile(path, content, { flag: 'wx' }), entry.size)
  add(tarPadding(entry.size))
}
