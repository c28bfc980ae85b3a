import type { Bytes } from '../blobs/blob-store.ts'
import { openTar } from './open-tar.ts'
import type { PlainBytes } from './plain-bytes.ts'
import { isTarHeader } from './read-tar-header.ts'
import { isZero, TarEntries } from './tar-entries.ts'
import { TAR_BLOCK, type TarEntry, tarPadding } from './tar-header.ts'
import { ArchiveDamaged, ArchiveNotSupported } from './unreadable-archive.ts'

export interface ArchiveEntry extends TarEntry {
  /** To be read before the next entry is asked for; what is left of it then is skipped. Empty for a directory. */
  content: AsyncIterable<Uint8Array>
}

/**
 * The entries of an archive, one after another: a tar of any dialect, as it is or in gzip. Until the loop has ended by itself
 * the CRC of the whole is unchecked. Throws ArchiveDamaged, ArchiveNotSupported, ArchiveRefused, and a failure of the
 * stream itself as it is.
 */
export async function* readEntries(
  archive: Bytes,
  { signal }: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<ArchiveEntry> {
  const tar = await openTar(archive, signal)
  const entries = new TarEntries(tar)
  try {
    for (let entry = await entries.next(); entry; entry = await entries.next()) {
      const content = contentOf(tar, entry)
      yield { ...entry, content: content.bytes() }
      await content.skipRest()
      await tar.exactly(tarPadding(entry.size).length)
    }
    await onlyZerosLeft(tar)
  } finally {
    await tar.close()
  }
}

/** All of its content, which is then in memory. */
export async function textOf({ content }: Pick<ArchiveEntry, 'content'>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(content)).toString('utf8')
}

/** The content of one entry, for as long as that entry is the current one. */
function contentOf(tar: PlainBytes, { path, size }: TarEntry) {
  let left = size
  let passed = false

  async function* bytes(): AsyncGenerator<Uint8Array> {
    while (left > 0 || passed) {
      if (passed) throw new Error(`the content of ${path} was read after its turn`)
      const some = await tar.some(left)
      left -= some.length
      yield some
    }
  }

  async function skipRest(): Promise<void> {
    passed = left > 0
    while (left > 0) left -= (await tar.some(left)).length
  }

  return { bytes, skipRest }
}

/** Tars are filled up to whole records, of 10 KiB as a rule; what goes on much longer is no filling. */
const MAX_FILLING = 16 * 1024 * 1024

async function onlyZerosLeft(tar: PlainBytes): Promise<void> {
  const end = tar.offset
  for (let rest = await tar.exactly(TAR_BLOCK); rest.length > 0; rest = await tar.upTo(TAR_BLOCK)) {
    const offset = tar.offset - rest.length
    if (offset > end && isTarHeader(rest))
      throw new ArchiveNotSupported('it is several tars, one after another')
    if (!isZero(rest)) throw new ArchiveDamaged('something follows the end of the tar', offset)
    if (tar.offset - end > MAX_FILLING)
      throw new ArchiveDamaged('it goes on after the end of the tar', tar.offset)
  }
}
