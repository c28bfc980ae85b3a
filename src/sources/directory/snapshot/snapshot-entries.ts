import type { ScratchRepository } from './snapshot-scratch.ts'
import { checkedBytes } from './verify-bytes.ts'

export interface SnapshotEntry {
  /** From the root of the archive, without a slash at the end. */
  path: string
  kind: 'directory' | 'file'
  size: number
  /** Epoch milliseconds. */
  modifiedAt: number
  /** Compressed already: deflating it again is wasted. */
  packed: boolean
  /** A chunk is good until the next is asked for. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** Always the same, so that the same content gives the same archive; no tool takes it for an unset clock. */
const MODIFIED_AT = Date.UTC(2001, 0, 1)

export async function* entriesOf(
  fullName: string,
  repository: ScratchRepository,
  wiki: ScratchRepository | null,
): AsyncGenerator<SnapshotEntry> {
  const parts: [root: string, part: ScratchRepository][] = [
    [`repositories/${fullName}.git`, repository],
  ]
  if (wiki) parts.push([`repositories/${fullName}.wiki.git`, wiki])
  for (const [root, part] of parts) {
    yield directory(root)
    for (const path of part.directories) yield directory(`${root}/${path}`)
  }
  for (const [root, part] of parts)
    for (const file of part.files)
      yield {
        path: `${root}/${file.path}`,
        kind: 'file',
        size: file.size,
        modifiedAt: MODIFIED_AT,
        packed: file.kind !== 'text',
        open: () => checkedBytes(part, file),
      }
}

function directory(path: string): SnapshotEntry {
  return {
    path,
    kind: 'directory',
    size: 0,
    modifiedAt: MODIFIED_AT,
    packed: false,
    open: () => [],
  }
}
