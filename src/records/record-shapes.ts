import { anyObject, list, oneOf, type Shape, text } from '../lib/json-shape.ts'
import { UNKNOWN_TIME } from './fact.ts'

export const anyText: Shape<string> = text('a text', () => true)
export const address: Shape<string> = text('an address', (value) => URL.canParse(value))
export const flag: Shape<boolean> = oneOf(true, false)

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

export const textOrNull = orElse(anyText, null)
export const timeOrUnknown = orElse(anyText, UNKNOWN_TIME)

/** Validates a field of a record and returns its value. */
export type FieldsOf = <T>(key: string, shape: Shape<T>) => T

/** Returns a function that validates single fields of a record. Fields that are not requested are ignored. */
export function fieldsOf(value: unknown, at: string): FieldsOf {
  const record = anyObject(value, at)
  return (key, shape) => shape(record[key], at ? `${at}.${key}` : key)
}

/** Returns the shape of an object, given a function that reads its fields. */
export function part<T>(read: (field: FieldsOf) => T): Shape<T> {
  return (value, at) => read(fieldsOf(value, at))
}

const login = text('a login', (value) => value !== '')
const userOf = (field: FieldsOf) => ({ url: field('url', address), login: field('login', login) })

const member = part((field) => ({ user: field('user', address) }))

const collaborator = part((field) => ({
  user: field('user', address),
  permission: field('permission', anyText),
}))

const topic = part((field) => ({
  topic_name: field('topic_name', anyText),
  repository: field('repository', optional(address)),
  creator: field('creator', optional(address)),
}))

const generalSettings = part((field) => ({
  template: field('template', optional(flag)),
  projects: field('projects', optional(flag)),
  merge_commit: field('merge_commit', optional(flag)),
  squash_merge: field('squash_merge', optional(flag)),
  rebase_merge: field('rebase_merge', optional(flag)),
  delete_branch_heads: field('delete_branch_heads', optional(flag)),
}))

/** Any record. Only its `url` is validated. */
export const anyRecord = part((field) => ({ url: field('url', address) }))

/**
 * The record kinds whose fields are validated; for other known kinds, `anyRecord` is used. Fields have the same names as in the
 * archive. Optional fields are those that older archives and other exporters omit or set to null.
 */
export const SHAPES = {
  users: part(userOf),
  organizations: part((field) => ({
    ...userOf(field),
    members: field('members', optional(list(member))),
  })),
  repositories: part((field) => ({
    url: field('url', address),
    owner: field('owner', address),
    name: field('name', anyText),
    description: field('description', optional(anyText)),
    website: field('website', optional(anyText)),
    private: field('private', flag),
    has_issues: field('has_issues', optional(flag)),
    has_wiki: field('has_wiki', optional(flag)),
    has_downloads: field('has_downloads', optional(flag)),
    is_archived: field('is_archived', optional(flag)),
    default_branch: field('default_branch', optional(anyText)),
    collaborators: field('collaborators', optional(list(collaborator))),
    labels: field('labels', optional(list(anyRecord))),
    git_url: field('git_url', address),
    wiki_url: field('wiki_url', optional(address)),
    repository_topics: field('repository_topics', optional(list(topic))),
    general_settings: field('general_settings', optional(generalSettings)),
  })),
}

export type UserRecord = ReturnType<typeof SHAPES.users>
export type OrganizationRecord = ReturnType<typeof SHAPES.organizations>
export type RepositoryRecord = ReturnType<typeof SHAPES.repositories>
