import { NeedsGit, type WholeObject } from './object-reader.ts'

export interface CommitObject {
  tree: string
  parents: string[]
  /** Seconds since 1970, as they are written. */
  committed: string
}

export interface TagObject {
  object: string
  type: string
  /** Empty where nobody signed as its maker. */
  tagged: string
}

export interface TreeEntry {
  kind: 'file' | 'tree' | 'other'
  oid: string
  name: string
}

/** Twelve digits are some thirty thousand years; what git makes of more, git may say. */
const WHEN = String.raw`[^\n]*> (\d{1,12}) [+-]\d{4}$`

export function parseCommit({ type, bytes }: WholeObject): CommitObject {
  const head = headOf(bytes)
  const [, tree] = /^tree ([0-9a-f]+)$/m.exec(head) ?? []
  const [, committed] = new RegExp(`^committer ${WHEN}`, 'm').exec(head) ?? []
  if (type !== 'commit' || !tree || !committed) throw new NeedsGit('not an ordinary commit')
  return {
    tree,
    parents: [...head.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, oid]) => oid!),
    committed,
  }
}

export function parseTag({ type: is, bytes }: WholeObject): TagObject {
  const head = headOf(bytes)
  const [, object, type] = /^object ([0-9a-f]+)\ntype (\w+)$/m.exec(head) ?? []
  const hasTagger = /^tagger /m.test(head)
  const [, tagged = ''] = new RegExp(`^tagger ${WHEN}`, 'm').exec(head) ?? []
  if (is !== 'tag' || !object || !type || (hasTagger && tagged === ''))
    throw new NeedsGit('not an ordinary tag')
  return { object, type, tagged }
}

/** Up to the empty line that the message follows. */
function headOf(bytes: Buffer): string {
  const end = bytes.indexOf('\n\n')
  return bytes.toString('latin1', 0, end === -1 ? bytes.length : end)
}

const FILE_TYPE = 0o170000
const A_FILE = 0o100000
const A_DIRECTORY = 0o040000

/** `<mode> <name>`, a null, and the bare bytes of the object's name; and so on. */
export function parseTree({ type, bytes }: WholeObject, oidBytes: number): TreeEntry[] {
  if (type !== 'tree') throw new NeedsGit('not a tree')
  const entries: TreeEntry[] = []
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at)
    const end = bytes.indexOf(0, space)
    const next = end + 1 + oidBytes
    if (space === -1 || end === -1 || next > bytes.length)
      throw new NeedsGit('a tree that is cut off')
    const mode = Number.parseInt(bytes.toString('latin1', at, space), 8) & FILE_TYPE
    entries.push({
      kind: mode === A_FILE ? 'file' : mode === A_DIRECTORY ? 'tree' : 'other',
      oid: bytes.toString('hex', end + 1, next),
      name: bytes.toString('utf8', space + 1, end),
    })
    at = next
  }
  return entries
}
