import { anyObject, list, oneOf, type Shape, text } from '../lib/json-shape.ts'
import { UNKNOWN_TIME } from './fact.ts'

export const anyString: Shape<string> = text('a text', () => true)
export const anyUrl: Shape<string> = text('an address', (value) => URL.canParse(value))
export const anyBoolean: Shape<boolean> = oneOf(true, false)

/** Accepts an absent or null field and returns undefined for it. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, at) => (value === undefined || value === null ? undefined : shape(value, at))
}

/** Accepts an absent or null field and returns `otherwise` for it. */
export function orElse<T, E>(shape: Shape<T>, otherwise: E): Shape<T | E> {
  return (value, at) => (value === undefined || value === null ? otherwise : shape(value, at))
}

/** Accepts an absent field and returns undefined for it. Null is passed to the shape. */
export function ifPresent<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, at) => (value === undefined ? undefined : shape(value, at))
}

export const textOrNull = orElse(anyString, null)
export const timeOrUnknown = orElse(anyString, UNKNOWN_TIME)

/** Validates a field of a record and returns its value. */
export type FieldReader = <T>(key: string, shape: Shape<T>) => T

/** Returns a function that validates single fields of a record. Fields that are not requested are ignored. */
export function fieldReader(value: unknown, at: string): FieldReader {
  const record = anyObject(value, at)
  return (key, shape) => shape(record[key], at ? `${at}.${key}` : key)
}

/** Returns the shape of an object, given a function that reads its fields. */
export function objectOf<T>(read: (field: FieldReader) => T): Shape<T> {
  return (value, at) => read(fieldReader(value, at))
}

const login = text('a login', (value) => value !== '')
const userOf = (field: FieldReader) => ({ url: field('url', anyUrl), login: field('login', login) })

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

/** Any record. Only its `url` is validated. */
export const anyRecord = objectOf((field) => ({ url: field('url', anyUrl) }))

/**
 * The record kinds whose fields are validated; for other known kinds, `anyRecord` is used. Fields have the same names as in the
 * archive. Optional fields are those that older archives and other exporters omit or set to null.
 */
export const SHAPES = {
  users: objectOf(userOf),
  organizations: objectOf((field) => ({
    ...userOf(field),
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
