import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readEntries } from '../../src/archive/read-entries.ts'
import { tarHeader, tarPadding } from '../../src/archive/tar-header.ts'
import { collect } from './archive-samples.ts'
import { runInRow } from './command-row.ts'
import { temporaryDirectory } from './odd-repositories.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname

interface Ended {
  code: number | null
  stdout: Buffer
  stderr: string
  /** Both, for what is said and where does not matter. */
  said: string
}

interface Running {
  kill(signal: NodeJS.Signals): void
  /** As it is said. */
  stderr: Readable
  ended: Promise<Ended>
}

/** A desk of one's own to run commands at: a folder, and a place for temporary files that tells what was left there. */
export interface Desk {
  folder: string
  /** What its commands are run with. */
  env: NodeJS.ProcessEnv
  /** To its end; with input, or bytes as output, in a process of its own. */
  godwit(args: readonly string[], input?: Buffer): Promise<Ended>
  start(args: readonly string[], input?: Buffer): Running
  /** Whatever commands have left behind: temporary files, and hidden ones in the folder. */
  leftovers(): Promise<string[]>
}

export async function desk(
  t: Pick<TestContext, 'after'>,
  env: Readonly<Record<string, string>> = {},
): Promise<Desk> {
  const base = temporaryDirectory(t)
  const [folder, temporary] = [join(base, 'folder'), join(base, 'temporary')]
  for (const each of [folder, temporary]) await mkdir(each)
  const environment = { ...process.env, ...env, TMPDIR: temporary }
  const start: Desk['start'] = (args, input) => run(args, folder, environment, input)
  return {
    folder,
    env: environment,
    start,
    async godwit(args, input) {
      if (input || args.includes('-')) return start(args, input).ended
      const { stdout, stderr, code } = await runInRow({ args, cwd: folder, env: environment })
      return { code, stdout, stderr, said: `${stdout.toString('latin1')}\n${stderr}` }
    },
    async leftovers() {
      const hidden = (await readdir(folder, { recursive: true })).filter((path) =>
        /(^|\/)\./.test(path),
      )
      return [...(await readdir(temporary)), ...hidden]
    },
  }
}

function run(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  input: Buffer = Buffer.alloc(0),
): Running {
  const ended = Promise.withResolvers<Ended>()
  const options = { cwd, env, encoding: 'buffer', maxBuffer: 1 << 28 } as const
  const child = execFile(GODWIT, args, options, (_error, stdout, stderr) => {
    const said = `${stdout.toString('latin1')}\n${stderr}`
    ended.resolve({ code: child.exitCode, stdout, stderr: stderr.toString(), said })
  })
  // A command that has no use for its input may end before it is all there.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const { stderr } = child
  return { kill: (signal) => child.kill(signal), stderr: stderr!, ended: ended.promise }
}

export interface PlainEntry {
  path: string
  kind: 'file' | 'directory'
  content: Buffer
}

export async function entriesIn(archive: string | Buffer): Promise<PlainEntry[]> {
  const bytes = typeof archive === 'string' ? createReadStream(archive) : [archive]
  const entries: PlainEntry[] = []
  for await (const { path, kind, content } of readEntries(bytes))
    entries.push({ path, kind, content: await collect(content) })
  return entries
}

export async function jsonIn<T>(archive: string, path: string): Promise<T> {
  const entry = (await entriesIn(archive)).find((each) => each.path === path)
  return JSON.parse(String(entry?.content)) as T
}

/** An entry's header as nobody should write it: another name, type or link than its maker would allow. */
export interface ForgedEntry {
  name: string
  type?: string
  link?: string
  size?: number
  content?: string
}

/** Whose times are those of what Godwit wrote, so that what was not touched keeps its checksum. */
const MODIFIED_AT = Date.UTC(2001, 0, 1)

/** A tar in one gzip member, whose checksum is right whatever is in it. */
export function packed(entries: readonly (PlainEntry | ForgedEntry)[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    if ('name' in entry) return forged(entry)
    const { path, kind, content } = entry
    const size = content.length
    return [tarHeader({ path, kind, size, modifiedAt: MODIFIED_AT }), content, tarPadding(size)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 1 })
}

function forged({ name, type = '0', link = '', size, content = '' }: ForgedEntry): Buffer[] {
  const bytes = Buffer.from(content)
  const claimed = { path: 'x', kind: 'file', size: size ?? bytes.length, modifiedAt: 0 } as const
  const header = tarHeader(claimed)
  header.fill(0, 0, 100).write(name, 'latin1')
  header.write(type, 156)
  header.write(link, 157)
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return [header, bytes, tarPadding(bytes.length)]
}

/** The same archive with one of its entries, or its list of entries, changed. */
export async function changed(
  archive: string,
  to: string,
  change: (entries: PlainEntry[]) => (PlainEntry | ForgedEntry)[],
): Promise<void> {
  await writeFile(to, packed(change(await entriesIn(archive))))
}

/** For `changed`: edits one JSON file. */
export function editing<T>(path: string, edit: (value: T) => void) {
  return (entries: PlainEntry[]): PlainEntry[] =>
    entries.map((entry) => {
      if (entry.path !== path) return entry
      const value = JSON.parse(String(entry.content)) as T
      edit(value)
      return { ...entry, content: Buffer.from(JSON.stringify(value)) }
    })
}
