import { anyObject, list, type Shape, text } from '../lib/json-shape.ts'
import { boolean, optional, string, url } from './record-fields.ts'

/** An object with these fields, which have the same names as in the archive. Other fields are left out. */
const only =
  <T extends Record<string, Shape<unknown>>>(
    fields: T,
  ): Shape<{ [K in keyof T]: ReturnType<T[K]> }> =>
  (value, at) => {
    const found = anyObject(value, at)
    const read = Object.entries(fields).map(([key, shape]) => [
      key,
      shape(found[key], at ? `${at}.${key}` : key),
    ])
    return Object.fromEntries(read)
  }

/** A record of any kind. Only its `url` is validated. */
export const anyRecord = only({ url })

const account = { url, login: text('a login', (value) => value !== '') }

/**
 * The shapes of the record kinds that are validated field by field. Optional fields are those that older archives and other exporters
 * omit or set to null.
 */
export const SHAPES = {
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
