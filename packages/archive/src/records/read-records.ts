import { list, only, parseJson, type Shape, text } from '@godwit/lib/json-shape'
import { isForeignName } from '@godwit/lib/names'
import { boolean, optional, string, url } from './record-fields.ts'
import { RECORD_FORMATS, type RecordKind, type RecordsByKind } from './record-kinds.ts'

/** Returns whether this is a kind of records. */
export function isRecordKind(kind: string): kind is RecordKind {
  return Object.hasOwn(RECORD_FORMATS, kind)
}

/**
 * Reads one GitHub record, from any exporter and any host. Throws an error that names the invalid field. `at` is the
 * position of the record, such as `[3]`.
 */
export function readRecord<K extends RecordKind>(
  kind: K,
  githubRecord: unknown,
  at = '',
): RecordsByKind[K] {
  return (RECORD_FORMATS[kind] as Shape<unknown>)(githubRecord, at) as RecordsByKind[K]
}

/** Called for each invalid record, which is left out. The message contains its index, the field and the reason. */
type OnInvalid = (message: string) => void

/** Reads the records of one file. Throws if the file is not a JSON array, and calls `onInvalid` for each invalid record. */
export function readRecords<K extends RecordKind>(kind: K, json: string, onInvalid: OnInvalid) {
  return readList(json, (githubRecord, at) => readRecord(kind, githubRecord, at), onInvalid)
}

/** Applies `shape` to each element of a JSON array. Returns the valid ones, and how many there are in all. Throws if it is no array. */
export function readList<T>(json: string, shape: Shape<T>, onInvalid: OnInvalid) {
  const items: unknown = parseJson(json)
  if (!Array.isArray(items)) throw new Error('not a JSON array')
  const valid: { index: number; value: T }[] = []
  withoutStackTraces(() => {
    for (const [index, value] of items.entries()) {
      try {
        valid.push({ index, value: shape(value, `[${index}]`) })
      } catch (error) {
        onInvalid((error as Error).message)
      }
    }
  })
  return { valid, count: items.length }
}

/**
 * Runs synchronous code whose errors need no stack trace. Measured: reading an invalid record takes 2 µs instead of 6 µs, and an archive
 * may have millions of them.
 */
function withoutStackTraces(run: () => void): void {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    run()
  } finally {
    Error.stackTraceLimit = limit
  }
}

const RECORD_FILE = /^([a-z][a-z_]*)_(\d{6})\.json$/

/** Returns the kind of records in a file, such as `issues` for `issues_000001.json`, or undefined for other files. */
export function kindOfFile(name: string): string | undefined {
  return RECORD_FILE.exec(name)?.[1]
}

/**
 * Reads and validates the records of one file. Records of a kind in `SHAPES` are reduced to the fields of its shape; others keep all
 * fields. Throws if the file is not a JSON array.
 */
export function readRecordFile(kind: string, json: string, onInvalid: OnInvalid) {
  return readList(json, shapeOf(kind), onInvalid)
}

/** Archives of other exporters or of future versions may have unknown kinds, whose records are not validated. */
function shapeOf(kind: string): Shape<unknown> {
  if (Object.hasOwn(SHAPES, kind)) return SHAPES[kind as keyof typeof SHAPES]
  return (value, at) => {
    if (isRecordKind(kind)) anyRecord(value, at)
    return value
  }
}

/** A record of any kind. Only its `url` is validated. */
const anyRecord = only({ url })

const account = { url, login: text('a login', isForeignName) }

/**
 * The shapes of the record kinds that are validated field by field. Optional fields are those that older archives and other exporters
 * omit or set to null.
 */
const SHAPES = {
  users: only(account),
  organizations: only({ ...account, members: optional(list(only({ user: url }))) }),
  repositories: only({
    url,
    owner: url,
    name: string,
    description: optional(string),
    website: optional(string),
    private: boolean,
    has_issues: optional(boolean),
    has_wiki: optional(boolean),
    has_downloads: optional(boolean),
    is_archived: optional(boolean),
    default_branch: optional(string),
    collaborators: optional(list(only({ user: url, permission: string }))),
    labels: optional(list(anyRecord)),
    git_url: url,
    wiki_url: optional(url),
    repository_topics: optional(
      list(only({ topic_name: string, repository: optional(url), creator: optional(url) })),
    ),
    general_settings: optional(
      only({
        template: optional(boolean),
        projects: optional(boolean),
        merge_commit: optional(boolean),
        squash_merge: optional(boolean),
        rebase_merge: optional(boolean),
        delete_branch_heads: optional(boolean),
      }),
    ),
  }),
}

export type UserRecord = ReturnType<typeof SHAPES.users>
export type OrganizationRecord = ReturnType<typeof SHAPES.organizations>
export type RepositoryRecord = ReturnType<typeof SHAPES.repositories>
