import { list, text } from '../lib/json-shape.ts'
import {
  anyBoolean,
  anyString,
  anyUrl,
  type FieldReader,
  objectOf,
  optional,
} from './field-reader.ts'

const login = text('a login', (value) => value !== '')
const readAccount = (field: FieldReader) => ({
  url: field('url', anyUrl),
  login: field('login', login),
})

const member = objectOf((field) => ({ user: field('user', anyUrl) }))

const collaborator = objectOf((field) => ({
  user: field('user', anyUrl),
  permission: field('permission', anyString),
}))

const topic = objectOf((field) => ({
  topic_name: field('topic_name', anyString),
  repository: field('repository', optional(anyUrl)),
  creator: field('creator', optional(anyUrl)),
}))

const generalSettings = objectOf((field) => ({
  template: field('template', optional(anyBoolean)),
  projects: field('projects', optional(anyBoolean)),
  merge_commit: field('merge_commit', optional(anyBoolean)),
  squash_merge: field('squash_merge', optional(anyBoolean)),
  rebase_merge: field('rebase_merge', optional(anyBoolean)),
  delete_branch_heads: field('delete_branch_heads', optional(anyBoolean)),
}))

/** A record of any kind. Only its `url` is validated. */
export const anyRecord = objectOf((field) => ({ url: field('url', anyUrl) }))

/**
 * The shapes of the record kinds that are validated field by field. Fields have the same names as in the archive. Optional fields
 * are those that older archives and other exporters omit or set to null.
 */
export const SHAPES = {
  users: objectOf(readAccount),
  organizations: objectOf((field) => ({
    ...readAccount(field),
    members: field('members', optional(list(member))),
  })),
  repositories: objectOf((field) => ({
    url: field('url', anyUrl),
    owner: field('owner', anyUrl),
    name: field('name', anyString),
    description: field('description', optional(anyString)),
    website: field('website', optional(anyString)),
    private: field('private', anyBoolean),
    has_issues: field('has_issues', optional(anyBoolean)),
    has_wiki: field('has_wiki', optional(anyBoolean)),
    has_downloads: field('has_downloads', optional(anyBoolean)),
    is_archived: field('is_archived', optional(anyBoolean)),
    default_branch: field('default_branch', optional(anyString)),
    collaborators: field('collaborators', optional(list(collaborator))),
    labels: field('labels', optional(list(anyRecord))),
    git_url: field('git_url', anyUrl),
    wiki_url: field('wiki_url', optional(anyUrl)),
    repository_topics: field('repository_topics', optional(list(topic))),
    general_settings: field('general_settings', optional(generalSettings)),
  })),
}

export type UserRecord = ReturnType<typeof SHAPES.users>
export type OrganizationRecord = ReturnType<typeof SHAPES.organizations>
export type RepositoryRecord = ReturnType<typeof SHAPES.repositories>
