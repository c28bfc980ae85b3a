import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateSync, inflateSync } from 'node:zlib'

/** Name, mode and object id of an entry of a tree. */
type TreeEntry = readonly [name: string, mode: string, oid: string]

export interface Folder {
  [name: string]: string | Folder
}

export interface Commit {
  tree: string
  parent?: string | undefined
  /** Name, address and time, as in a commit object. */
  who: string
  message: string
}

/**
 * Writes loose objects and refs of a bare repository without git: tests make thousands of them, and starting git
 * takes longer than most tests. A service may read the repository at the same time, so files are renamed into place, as by git.
 */
export function looseObjects(dir: string) {
  const isSha256 = readFileSync(join(dir, 'config'), 'utf8').includes('objectformat = sha256')

  function writeObject(kind: string, content: Buffer): string {
    const bytes = Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content])
    const oid = createHash(isSha256 ? 'sha256' : 'sha1')
      .update(bytes)
      .digest('hex')
    const path = looseObjectPath(dir, oid)
    if (existsSync(path)) return oid
    mkdirSync(dirname(path), { recursive: true })
    const temporary = join(dirname(path), `tmp_obj_${process.pid}`)
    writeFileSync(temporary, deflateSync(bytes, { level: 1 }), { mode: 0o444 })
    renameSync(temporary, path)
    return oid
  }

  const writeBlob = (text: string) => writeObject('blob', Buffer.from(text))

  /** Returns the content of a loose object, or undefined if the object is in a pack or elsewhere. */
  function readObject(oid: string): Buffer | undefined {
    const path = looseObjectPath(dir, oid)
    if (!existsSync(path)) return undefined
    const bytes = inflateSync(readFileSync(path))
    return bytes.subarray(bytes.indexOf(0) + 1)
  }

  /** Returns undefined for a tree that is not a loose object, or that has a name beyond UTF-8. */
  function readTree(oid: string): TreeEntry[] | undefined {
    let rest = readObject(oid)
    if (!rest) return undefined
    const entries: TreeEntry[] = []
    while (rest.length > 0) {
      const end = rest.indexOf(0)
      const space = rest.indexOf(' ')
      const [mode, name] = [rest.toString('latin1', 0, space), rest.subarray(space + 1, end)]
      if (!isUtf8(name)) return undefined
      const next = end + 1 + (isSha256 ? 32 : 20)
      entries.push([String(name), mode, rest.toString('hex', end + 1, next)])
      rest = rest.subarray(next)
    }
    return entries
  }

  /** Writes a tree with these files, in addition to those of `base`. Returns undefined if a tree of `base` cannot be read. */
  function extendTree(base: string, folder: Folder): string | undefined {
    const entries = readTree(base)
    if (!entries) return undefined
    const byName = new Map(entries.map((each) => [each[0], each]))
    for (const [name, content] of Object.entries(folder)) {
      const [, mode, oid] = byName.get(name) ?? []
      if (typeof content === 'string') byName.set(name, [name, '100644', writeBlob(content)])
      else {
        const tree = mode === '40000' ? extendTree(oid!, content) : writeTree(content)
        if (tree === undefined) return undefined
        byName.set(name, [name, '40000', tree])
      }
    }
    return writeEntries([...byName.values()])
  }

  /** Returns the tree of a commit, or undefined if the commit is not a loose object. */
  const treeOf = (commit: string): string | undefined =>
    /^tree (\w+)$/m.exec(readObject(commit)?.toString('latin1') ?? '')?.[1]

  const writeTree = (folder: Folder): string =>
    writeEntries(
      Object.entries(folder).map(([name, content]) =>
        typeof content === 'string'
          ? [name, '100644', writeBlob(content)]
          : [name, '40000', writeTree(content)],
      ),
    )

  function writeEntries(entries: TreeEntry[]): string {
    // Git sorts by bytes, and a folder as if its name ended with a slash.
    const keyOf = ([name, mode]: TreeEntry) => Buffer.from(mode === '40000' ? `${name}/` : name)
    entries.sort((a, b) => Buffer.compare(keyOf(a), keyOf(b)))
    const lines = entries.flatMap(([name, mode, oid]) => [
      Buffer.from(`${mode} ${name}\0`),
      Buffer.from(oid, 'hex'),
    ])
    return writeObject('tree', Buffer.concat(lines))
  }

  function writeCommit({ tree: writeTree, parent, who, message }: Commit): string {
    const from = parent ? `parent ${parent}\n` : ''
    const text = `tree ${writeTree}\n${from}author ${who}\ncommitter ${who}\n\n${message}`
    return writeObject('commit', Buffer.from(text))
  }

  /** Returns the value of a ref, or undefined if it does not exist. */
  function readRef(ref: string): string | undefined {
    const path = join(dir, ref)
    if (existsSync(path)) {
      const text = readFileSync(path, 'latin1').trim()
      return text.startsWith('ref: ') ? readRef(text.slice('ref: '.length)) : text
    }
    const packed = join(dir, 'packed-refs')
    const lines = existsSync(packed) ? readFileSync(packed, 'utf8').split('\n') : []
    return lines.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0]
  }

  function writeRef(ref: string, oid: string): void {
    const path = join(dir, ref)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}.lock`, `${oid}\n`)
    renameSync(`${path}.lock`, path)
  }

  return {
    isSha256,
    writeBlob: writeBlob,
    tree: writeTree,
    extendTree: extendTree,
    treeOf: treeOf,
    writeCommit: writeCommit,
    readRef: readRef,
    writeRef: writeRef,
  }
}

export function looseObjectPath(dir: string, oid: string): string {
  return join(dir, 'objects', oid.slice(0, 2), oid.slice(2))
}

/** Converts files by path to nested folders. */
export function asFolders(files: Readonly<Record<string, string>>): Folder {
  const root: Folder = {}
  for (const [path, text] of Object.entries(files)) {
    const [name = '', ...above] = path.split('/').reverse()
    let folder = root
    for (const each of above.reverse()) {
      folder[each] ??= {}
      folder = folder[each] as Folder
    }
    folder[name] = text
  }
  return root
}
