import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { list, object, oneOf, orNull, type Shape, text } from '../archive/json-shape.ts'
import { parseJson } from '../archive/parse-json.ts'

interface UserRecord {
  url: string
  login: string
}

interface OrganizationRecord extends UserRecord {
  members: { user: string }[] | undefined
}

/** The fields are those of the file; what older archives and those of others may lack is undefined. */
export interface RepositoryRecord {
  url: string
  owner: string
  name: string
  description: string | null
  website: string | null | undefined
  private: boolean
  has_issues: boolean | undefined
  has_wiki: boolean | undefined
  has_downloads: boolean | undefined
  is_archived: boolean | undefined
  collaborators: { user: string; permission: string }[] | undefined
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

export interface Records {
  users: UserRecord[]
  organizations: OrganizationRecord[]
  repositories: RepositoryRecord[]
  /** Whether there is a file of users at all: an archive without metadata has none. */
  hasUsers: boolean
  /** What is wrong with the files themselves. */
  faults: string[]
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

function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, at) => (value === undefined ? undefined : shape(value, at))
}

const anyText = text('a text', () => true)
const address = text('an address', (value) => URL.canParse(value))
const flag = oneOf(true, false)

const user = { url: address, login: text('a login', (value) => value !== '') }

const SHAPES = {
  users: list(record<UserRecord>(user)),
  organizations: list(
    record<OrganizationRecord>({
      ...user,
      members: optional(list(record<{ user: string }>({ user: address }))),
    }),
  ),
  repositories: list(
    record<RepositoryRecord>({
      url: address,
      owner: address,
      name: anyText,
      description: orNull(anyText),
      website: optional(orNull(anyText)),
      private: flag,
      has_issues: optional(flag),
      has_wiki: optional(flag),
      has_downloads: optional(flag),
      is_archived: optional(flag),
      collaborators: optional(
        list(record<{ user: string; permission: string }>({ user: address, permission: anyText })),
      ),
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
  ),
}

export const RECORD_FILE = /^(users|organizations|repositories)_\d{6}\.json$/

/** All records at the top of an unpacked archive. A file that cannot be understood is a fault, and the others count. */
export async function readRecords(root: string): Promise<Records> {
  const records: Records = {
    users: [],
    organizations: [],
    repositories: [],
    hasUsers: false,
    faults: [],
  }
  for (const file of (await readdir(root)).sort()) {
    const plural = RECORD_FILE.exec(file)?.[1] as keyof typeof SHAPES | undefined
    if (plural === undefined) continue
    records.hasUsers ||= plural === 'users'
    try {
      const value: unknown = parseJson(await readFile(join(root, file), 'utf8'))
      records[plural].push(...(SHAPES[plural](value, '') as never[]))
    } catch (error) {
      records.faults.push(`${file}: ${(error as Error).message}`)
    }
  }
  return records
}
