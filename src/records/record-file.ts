import { anyObject, list, type Shape, text } from '../lib/json-shape.ts'
import { isForeignName } from '../lib/names.ts'
import { isFactKind, type OnInvalid, readList } from './read-records.ts'
import { boolean, optional, string, url } from './record-fields.ts'

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
    if (isFactKind(kind)) anyRecord(value, at)
    return value
  }
}

/** An object with these fields, which have the same names as in the archive. Other fields are left out. */
function only<T extends Record<string, Shape<unknown>>>(
  fields: T,
): Shape<{ [K in keyof T]: ReturnType<T[K]> }> {
  const shapes = Object.entries(fields)
  return (value, at) => {
    const found = anyObject(value, at)
    const read = shapes.map(([key, shape]) => [key, shape(found[key], at ? `${at}.${key}` : key)])
    return Object.fromEntries(read)
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
