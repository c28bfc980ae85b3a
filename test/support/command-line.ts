import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readEntries } from '../../packages/archive/src/tar/read-entries.ts'
import { tarHeader, tarPadding } from '../../packages/archive/src/tar/tar-header.ts'
import { collect } from './archive-samples.ts'
import { temporaryDirectory } from './sample-repositories.ts'
import { runInSharedProcess } from './shared-commands.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname

export interface CommandResult {
  code: number | null
  stdout: Buffer
  stderr: string
  /** Standard output and standard error together. */
  output: string
}

interface RunningCommand {
  kill(signal: NodeJS.Signals): void
  /** The stream of standard error. */
  stderr: Readable
  result: Promise<CommandResult>
}

/** A command line with its own folder and its own directory for temporary files. */
export interface CommandLine {
  folder: string
  /** The environment of its commands. */
  env: NodeJS.ProcessEnv
  /** Runs a command to its end; with input or output through a pipe, in its own process. */
  godwit(args: readonly string[], input?: Buffer): Promise<CommandResult>
  start(args: readonly string[], input?: Buffer): RunningCommand
  /** Returns temporary files that commands left behind, and hidden files in the folder. */
  leftovers(): Promise<string[]>
}

export async function commandLine(
  t: Pick<TestContext, 'after'>,
  env: Readonly<Record<string, string>> = {},
): Promise<CommandLine> {
  const base = temporaryDirectory(t)
  const [folder, temporary] = [join(base, 'folder'), join(base, 'temporary')]
  for (const each of [folder, temporary]) await mkdir(each)
  const environment = { ...process.env, ...env, TMPDIR: temporary }
  const start: CommandLine['start'] = (args, input) => run(args, folder, environment, input)
  return {
    folder,
    env: environment,
    start,
    async godwit(args, input) {
      if (input || args.includes('-')) return start(args, input).result
      const { stdout, stderr, code } = await runInSharedProcess({
        args,
        cwd: folder,
        env: environment,
      })
      return { code, stdout, stderr, output: `${stdout.toString('latin1')}\n${stderr}` }
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
): RunningCommand {
  const ended = Promise.withResolvers<CommandResult>()
  const options = { cwd, env, encoding: 'buffer', maxBuffer: 1 << 28 } as const
  const child = execFile(GODWIT, args, options, (_error, stdout, stderr) => {
    const output = `${stdout.toString('latin1')}\n${stderr}`
    ended.resolve({ code: child.exitCode, stdout, stderr: stderr.toString(), output })
  })
  // A command that does not read its input may end before all input is written.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const { stderr } = child
  return { kill: (signal) => child.kill(signal), stderr: stderr!, result: ended.promise }
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

/** A tar entry with an invalid name, type or link. */
export interface ForgedEntry {
  name: string
  type?: string
  link?: string
  size?: number
  content?: string
}

/** The modification time that Godwit writes, so that unchanged entries keep their checksum. */
const MODIFIED_AT = Date.UTC(2001, 0, 1)

/** Packs entries into a tar in one gzip member with a correct checksum. */
export function packEntries(entries: readonly (PlainEntry | ForgedEntry)[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    if ('name' in entry) return forgedBlocks(entry)
    const { path, kind, content } = entry
    const size = content.length
    return [tarHeader({ path, kind, size, modifiedAt: MODIFIED_AT }), content, tarPadding(size)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 1 })
}

function forgedBlocks({ name, type = '0', link = '', size, content = '' }: ForgedEntry): Buffer[] {
  const bytes = Buffer.from(content)
  const fields = { path: 'x', kind: 'file', size: size ?? bytes.length, modifiedAt: 0 } as const
  const header = tarHeader(fields)
  header.fill(0, 0, 100).write(name, 'latin1')
  header.write(type, 156)
  header.write(link, 157)
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return [header, bytes, tarPadding(bytes.length)]
}

/** Writes a copy of the archive with changed entries. */
export async function writeChangedArchive(
  archive: string,
  to: string,
  change: (entries: PlainEntry[]) => (PlainEntry | ForgedEntry)[],
): Promise<void> {
  await writeFile(to, packEntries(change(await entriesIn(archive))))
}

/** Returns a change for `writeChangedArchive` that edits one JSON file. */
export function editJson<T>(path: string, edit: (value: T) => void) {
  return (entries: PlainEntry[]): PlainEntry[] =>
    entries.map((entry) => {
      if (entry.path !== path) return entry
      const value = JSON.parse(String(entry.content)) as T
      edit(value)
      return { ...entry, content: Buffer.from(JSON.stringify(value)) }
    })
}
