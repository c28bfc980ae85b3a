import {
  address,
  addressOrNull,
  all,
  count,
  flag,
  integer,
  listOf,
  moment,
  orNull,
  recordOf,
  schemaNamed,
  text,
  textOrNull,
} from '../description/json-schema.ts'
import { repositoryAddressesSchema } from './repository-addresses-schema.ts'

export const licenseSchema = recordOf(
  {
    ...all(['key', 'name', 'spdx_id', 'node_id'], text),
    ...all(['url', 'html_url'], address),
  },
  { description: 'A licence, detected from its text or set by the operator.' },
)

const notKept = { ...count, description: 'Always 0: a git host has none.' }

export const repositorySchema = recordOf(
  {
    id: integer,
    node_id: { ...text, description: 'Opaque.' },
    name: text,
    full_name: { ...text, description: 'Login of the owner, a slash, and the name.' },
    owner: schemaNamed('user'),
    ...all(['private', 'fork', 'is_template', 'archived', 'disabled'], flag),
    description: { ...text, description: 'Empty if there is none.' },
    ...repositoryAddressesSchema,
    homepage: addressOrNull,
    language: { ...textOrNull, description: 'The language with the most bytes.' },
    forks_count: count,
    ...all(['stargazers_count', 'watchers_count', 'open_issues_count'], notKept),
    size: { ...count, description: 'Size on disk in KiB.' },
    default_branch: text,
    topics: listOf(text),
    ...all(['has_issues', 'has_projects', 'has_wiki', 'has_pages', 'has_downloads'], flag),
    visibility: { ...text, enum: ['private', 'public'] },
    pushed_at: { ...moment, description: 'Time of the newest commit of any ref, in UTC.' },
    ...all(['created_at', 'updated_at'], { ...moment, description: 'In UTC.' }),
    permissions: recordOf(all(['admin', 'push', 'pull'], flag), {
      description: 'Permissions of the caller.',
    }),
    template_repository: {
      ...orNull(schemaNamed('extended-repository')),
      description:
        'The template of this repository; null if there is none or the caller may not read it.',
    },
  },
  { description: 'A repository at the time when the migration started.' },
)

export const extendedRepositorySchema = recordOf(
  {
    ...repositorySchema.properties,
    ...all(['allow_rebase_merge', 'allow_squash_merge', 'allow_merge_commit'], flag),
    delete_branch_on_merge: flag,
    temp_clone_token: {
      ...text,
      description:
        'For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty.',
    },
    ...all(['subscribers_count', 'open_issues', 'watchers'], notKept),
    ...all(['network_count', 'forks'], count),
    license: orNull(schemaNamed('license')),
  },
  { description: 'A repository with all fields.' },
)
