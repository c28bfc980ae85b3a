import { list, object, type Shape, text } from '../ground/json-shape.ts'
import { address, anyText, flag, optional } from './field-shapes.ts'

export interface UserRecord {
  url: string
  login: string
}

export interface OrganizationRecord extends UserRecord {
  members: { user: string }[] | undefined
}

/** The fields are those of the file; what older archives and those of others may lack, or have as null, is undefined. */
export interface RepositoryRecord {
  url: string
  owner: string
  name: string
  description: string | undefined
  website: string | undefined
  private: boolean
  has_issues: boolean | undefined
  has_wiki: boolean | undefined
  has_downloads: boolean | undefined
  is_archived: boolean | undefined
  default_branch: string | undefined
  collaborators: { user: string; permission: string }[] | undefined
  labels: { url: string }[] | undefined
  git_url: string
  wiki_url: string | undefined
  repository_topics: RecordTopic[] | undefined
  general_settings: GeneralSettings | undefined
}

interface RecordTopic {
  topic_name: string
  repository: string | undefined
  creator: string | undefined
}

interface GeneralSettings {
  template: boolean | undefined
  projects: boolean | undefined
  merge_commit: boolean | undefined
  squash_merge: boolean | undefined
  rebase_merge: boolean | undefined
  delete_branch_heads: boolean | undefined
}

/** At least these fields: archives of other makers say more. */
function record<T extends object>(fields: { [K in keyof T]-?: Shape<T[K]> }): Shape<T> {
  const exact = object<T>(fields as { [K in keyof T]: Shape<T[K]> })
  return (value, at) => {
    if (typeof value !== 'object' || value === null) return exact(value, at)
    const known = Object.entries(value).filter(([key]) => Object.hasOwn(fields, key))
    return exact(Object.fromEntries(known), at)
  }
}

const user = { url: address, login: text('a login', (value) => value !== '') }

/** What is read of each kind; of the others that are known, that they have an address. */
export const SHAPES = {
  users: record<UserRecord>(user),
  organizations: record<OrganizationRecord>({
    ...user,
    members: optional(list(record<{ user: string }>({ user: address }))),
  }),
  repositories: record<RepositoryRecord>({
    url: address,
    owner: address,
    name: anyText,
    description: optional(anyText),
    website: optional(anyText),
    private: flag,
    has_issues: optional(flag),
    has_wiki: optional(flag),
    has_downloads: optional(flag),
    is_archived: optional(flag),
    default_branch: optional(anyText),
    collaborators: optional(
      list(record<{ user: string; permission: string }>({ user: address, permission: anyText })),
    ),
    labels: optional(list(record<{ url: string }>({ url: address }))),
    git_url: address,
    wiki_url: optional(address),
    repository_topics: optional(
      list(
        record<RecordTopic>({
          topic_name: anyText,
          repository: optional(address),
          creator: optional(address),
        }),
      ),
    ),
    general_settings: optional(
      record<GeneralSettings>({
        template: optional(flag),
        projects: optional(flag),
        merge_commit: optional(flag),
        squash_merge: optional(flag),
        rebase_merge: optional(flag),
        delete_branch_heads: optional(flag),
      }),
    ),
  }),
}

export const anyRecord: Shape<{ url: string }> = record<{ url: string }>({ url: address })
