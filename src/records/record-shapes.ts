import { list, text } from '../lib/json-shape.ts'
import { address, anyText, type FieldsOf, flag, optional, part } from './field-shapes.ts'

/** The fields are those of the file; what older archives and those of others may lack, or have as null, is undefined. */

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

export const anyRecord = part((field) => ({ url: field('url', address) }))

/** What is read of each kind; of the others that are known, that they have an address. */
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
