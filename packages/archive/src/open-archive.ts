import { join } from 'node:path'
import { type GitProgram, temporaryGit } from '@godwit/git/temporary-git'
import { archiveOpener } from './archive-opener.ts'
import { openReader } from './convert.ts'
import type { FormatReader } from './formats/format.ts'
import { Report } from './formats/format.ts'
import type { PeopleMap } from './formats/people.ts'
import { type ArchiveSummary, summarizeArchive } from './summarize-archive.ts'
import { type Finding, verifyArchive } from './verify-archive.ts'

export interface OpenOptions extends GitProgram {
  signal?: AbortSignal
  /** Called for records that cannot be read. By default they are skipped silently. */
  onWarning?(text: string): void
  /** The owner of a project export of GitLab, which does not say whose it is. */
  owner?: string
  people?: PeopleMap
}

const never = () => new AbortController().signal

/** Returns what `godwit show` prints, without unpacking anything. Rejects if the file is no archive or is damaged. */
export async function show(
  path: string,
  { signal = never() }: OpenOptions = {},
): Promise<ArchiveSummary> {
  const open = await archiveOpener(path)
  const { summary, damage } = await summarizeArchive(open(), signal, path)
  if (damage) throw damage
  return summary
}

/** Yields what `godwit verify` finds: every repository that has all its objects, errors and warnings. */
export async function* verify(path: string, options: OpenOptions = {}): AsyncGenerator<Finding> {
  const open = await archiveOpener(path)
  await using temporary = await temporaryGit(options, 'verify')
  const parts = { git: temporary.git, directory: temporary.path, file: path }
  yield* verifyArchive(parts, open(), options.signal ?? never())
}

/** Unpacks an archive into a temporary directory and returns its content. Disposing removes the directory. */
export async function openArchive(
  path: string,
  options: OpenOptions = {},
): Promise<FormatReader & AsyncDisposable> {
  const { signal = never(), onWarning = () => undefined, owner = '', people = new Map() } = options
  const open = await archiveOpener(path)
  await using stack = new AsyncDisposableStack()
  const { git, path: directory } = stack.use(await temporaryGit(options))
  const resources = stack.use(new DisposableStack())
  const report = new Report(onWarning)
  const names = { name: path, owner, people: new Map(people), projects: new Map() }
  const parts = { git, report, resources, wanted: new Set<string>(), signal }
  const reader = await openReader(open(), join(directory, 'input'), { ...names, ...parts })
  const kept = stack.move()
  return Object.assign(reader, { [Symbol.asyncDispose]: () => kept.disposeAsync() })
}
