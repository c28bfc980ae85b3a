import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'

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
 * takes longer than most tests.
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
    writeFileSync(path, deflateSync(bytes, { level: 1 }), { mode: 0o444 })
    return oid
  }

  const writeBlob = (text: string) => writeObject('blob', Buffer.from(text))

  function writeTree(folder: Folder): string {
    const entries = Object.entries(folder).map(([name, content]): TreeEntry => {
      return typeof content === 'string'
        ? [name, '100644', writeBlob(content)]
        : [name, '40000', writeTree(content)]
    })
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
    writeFileSync(path, `${oid}\n`)
  }

  return {
    isSha256,
    writeBlob: writeBlob,
    tree: writeTree,
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
