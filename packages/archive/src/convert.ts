import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Bytes } from '@godwit/lib/bytes'
import { UserError } from '@godwit/lib/user-error'
import { csvLine } from './formats/csv.ts'
import type { FormatReader, FormatWriter, Report, Written } from './formats/format.ts'
import { readGitHubArchive } from './formats/github-archive/read-github-archive.ts'
import {
  type GitLabOptions,
  isGitLabExport,
  readGitLabExport,
} from './formats/gitlab-export/read-gitlab-export.ts'
import { makeWorkDirectory, sweepWorkDirectories } from './formats/output.ts'
import type { PeopleMap } from './formats/people.ts'
import { unpackArchive } from './formats/unpack-archive.ts'
import type { RecordKind, RecordsByKind } from './records/record-kinds.ts'
import type { Folder } from './tar/read-folder.ts'
import { ArchiveRefused } from './tar/unreadable-archive.ts'

export interface ConvertOptions extends Pick<GitLabOptions, 'git' | 'report' | 'owner'> {
  inputs: readonly ConvertInput[]
  /** `OWNER/NAME` of the repositories to convert. If empty, all are converted. */
  repositories: readonly string[]
  people: PeopleMap
  /** Where the work directory is made: a directory on the file system of the output. */
  into: string
  /** `people` is filled while the inputs are read: it gets the username of everyone whom `options.people` has by id or e-mail address. */
  createWriter(workDirectory: string, people: PeopleMap): FormatWriter
  /** The CSV file to write the old and new numbers to, if something was renumbered. It must not exist. */
  numbersFile: string
  onProgress?(step: string): void
}

export interface ConvertInput {
  /** The name in messages: the path that the user gave. */
  name: string
  open(): Bytes | Folder
}

/**
 * Converts archives of any format to one output. Yields each repository once it is written, or with the errors that prevented it. What
 * the target cannot represent is in the report. Throws ArchiveRefused and UserError.
 */
export async function* convert(
  options: ConvertOptions,
  signal: AbortSignal,
): AsyncGenerator<Written> {
  const { inputs, into, report } = options
  await sweepWorkDirectories(into)
  await using work = await makeWorkDirectory(into)
  const people = new Map(options.people)
  const writer = options.createWriter(work.path, people)
  using resources = new DisposableStack()
  const wanted = new Set(options.repositories.map((name) => name.toLowerCase()))
  const common = { ...options, people, wanted, resources, projects: new Map(), signal }
  const readers: FormatReader[] = []
  let hasExport = false
  for (const [index, { name, open }] of inputs.entries())
    try {
      options.onProgress?.(`reading ${name} (${index + 1} of ${inputs.length})`)
      const root = join(work.path, `input-${index + 1}`)
      readers.push(await openReader(open(), root, { ...common, name }))
      hasExport ||= isGitLabExport(root)
    } catch (error) {
      if (inputs.length > 1 && error instanceof Error) error.message = `${name}: ${error.message}`
      throw error
    }
  if (options.owner !== '' && !hasExport)
    report.warn('options', '--owner is ignored: no input is a project export of GitLab')
  const content = readers.length === 1 ? readers[0]! : mergeReaders(readers, options)
  const found = new Set(content.fullNames.map((name) => name.toLowerCase()))
  const missing = options.repositories.filter((name) => !found.has(name.toLowerCase()))
  if (missing.length > 0) {
    const names = inputs.map(({ name }) => name)
    throw new UserError(`${names.join(', ')} does not hold ${missing.join(', ')}`)
  }
  if (found.size === 0) throw new ArchiveRefused('it holds no repositories')
  for (const loss of content.summary.losses)
    if (!loss.full_name || found.has(loss.full_name.toLowerCase())) report.earlierLosses.push(loss)
  options.onProgress?.(`writing ${found.size} repositories`)
  const mapped = writer.mapsPeople ? content : mapPeople(content, people, report)
  const converted = new Set<string>()
  for await (const each of writer.write({ content: mapped, report, signal })) {
    if (each.errors.length === 0) converted.add(each.fullName)
    yield each
  }
  const numbers = [...(content.renumbered?.() ?? [])]
    .filter(({ repository }) => converted.has(repository))
    .map((each) => csvLine([each.repository, each.old, each.new]))
  if (numbers.length === 0) return
  await writeFile(
    options.numbersFile,
    [csvLine(['repository', 'old', 'new']), ...numbers].join(''),
    {
      flag: 'wx',
    },
  )
  report.notes.push(`merge requests have new numbers: see ${options.numbersFile}`)
}

/** Unpacks an input into `root`, which must not exist, and recognizes its format by its content. */
export async function openReader(
  input: Bytes | Folder,
  root: string,
  options: Omit<GitLabOptions, 'scratch'>,
): Promise<FormatReader> {
  const unpacked = await unpackArchive(input, root, options.signal)
  if (unpacked.damage) throw unpacked.damage
  const scratch = dirname(root)
  return isGitLabExport(root)
    ? readGitLabExport(unpacked, { ...options, scratch })
    : readGitHubArchive(unpacked, { ...options, scratch })
}

/** Merges the content of several inputs. Throws UserError if two of them have a repository of the same name. */
function mergeReaders(
  readers: readonly FormatReader[],
  { inputs, report }: ConvertOptions,
): FormatReader {
  const sources = new Map<string, number>()
  for (const [index, { fullNames }] of readers.entries())
    for (const fullName of fullNames) {
      const other = sources.get(fullName.toLowerCase())
      if (other !== undefined) {
        const [first, second] = [inputs[other]!.name, inputs[index]!.name]
        throw new UserError(`${fullName} is both in ${first} and in ${second}`)
      }
      sources.set(fullName.toLowerCase(), index)
    }
  const readerOf = (fullName: string) => readers[sources.get(fullName.toLowerCase()) ?? 0]!

  /** Yields an account or a team only once, even if several inputs have it. */
  async function* records<K extends RecordKind>(kind: K) {
    const seen = new Map<string, RecordsByKind[K]>()
    for (const reader of readers)
      for await (const record of reader.records(kind)) {
        const key =
          'slug' in record
            ? `${record.organization}/${record.slug}`
            : 'login' in record
              ? record.login
              : ''
        const first = seen.get(key.toLowerCase())
        if (!first) {
          if (key !== '') seen.set(key.toLowerCase(), record)
          yield record
        } else if ('name' in first && 'name' in record && first.name !== record.name) {
          const names = `${first.name} and ${record.name}`
          report.warn('people', `${key} has two names, ${names}; the first is used`)
        }
      }
  }

  return {
    summary: {
      madeBy: [...new Set(readers.map(({ summary }) => summary.madeBy))].join(', '),
      madeAt:
        readers
          .map(({ summary }) => summary.madeAt)
          .sort()
          .at(-1) ?? null,
      losses: readers.flatMap(({ summary }) => summary.losses),
    },
    fullNames: readers.flatMap(({ fullNames }) => fullNames),
    urlOf: (fullName) => readerOf(fullName).urlOf(fullName),
    async *repositories() {
      for (const reader of readers) yield* reader.repositories()
    },
    records,
    findFile: (path, repository) => readerOf(repository).findFile(path, repository),
    *renumbered() {
      for (const reader of readers) yield* reader.renumbered?.() ?? []
    },
  }
}

/** The fields of records that contain logins, at any depth. */
const LOGIN_FIELDS = new Set(
  'author actor login creator resolver assignees authorizedUsers dismissalUsers owner'.split(' '),
)

/**
 * Returns the content with new logins in its records. If several accounts get the same login, only the record of the first one is used.
 * Organizations, and the owners of repositories, keep their names, which are part of the names of repositories and teams.
 */
function mapPeople(content: FormatReader, people: PeopleMap, report: Report): FormatReader {
  if (people.size === 0) return content
  for (const owner of new Set(content.fullNames.map((name) => name.split('/')[0]!)))
    if (people.has(owner.toLowerCase()))
      report.warn('people', `the repositories of ${owner} keep their owner: only people are mapped`)
  // Filled while organizations are read. Records that are read before them name only people.
  const organizations = new Set<string>()
  const newLogin = (login: string) =>
    organizations.has(login.toLowerCase()) ? undefined : people.get(login.toLowerCase())?.login
  const mapped = (value: unknown, isLogin: boolean): unknown => {
    if (typeof value === 'string') return (isLogin ? newLogin(value) : undefined) ?? value
    if (Array.isArray(value))
      return uniquePeople(
        value.map((each) => mapped(each, isLogin)),
        isLogin,
      )
    if (typeof value !== 'object' || value === null) return value
    const fields = Object.entries(value).map(([key, each]) => [
      key,
      mapped(each, LOGIN_FIELDS.has(key)),
    ])
    return Object.fromEntries(fields)
  }
  async function* records<K extends RecordKind>(kind: K) {
    const logins = new Set<string>()
    for await (const each of content.records(kind)) {
      if (kind === 'organizations' && 'login' in each) organizations.add(each.login.toLowerCase())
      const owner = kind === 'repositories' && 'owner' in each ? { owner: each.owner } : {}
      const record = { ...(mapped(each, false) as RecordsByKind[K]), ...owner }
      const login = 'login' in record ? record.login.toLowerCase() : undefined
      if (login === undefined || !logins.has(login)) yield record
      if (login !== undefined) logins.add(login)
    }
  }
  return { ...content, records }
}

/** What members and collaborators may do, from the least to the most. */
const PERMISSION_KINDS = ['member', 'read', 'triage', 'write', 'maintainer', 'maintain', 'admin']

interface ListedPerson {
  login?: unknown
  permission?: string
  role?: string
}

const rankOf = (person: unknown): number => {
  const { permission, role } = (person ?? {}) as ListedPerson
  return PERMISSION_KINDS.indexOf(permission ?? role ?? '')
}

/** Returns a list with every assignee, member and collaborator once, with the strongest of their permissions. */
function uniquePeople(list: readonly unknown[], areLogins: boolean): unknown[] {
  const unique = new Map<unknown, unknown>()
  for (const each of list) {
    const login = areLogins ? each : (each as ListedPerson | null)?.login
    const key = login ?? Symbol('not a person')
    if (!unique.has(key) || rankOf(each) > rankOf(unique.get(key))) unique.set(key, each)
  }
  return [...unique.values()]
}
