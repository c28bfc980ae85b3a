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
  { description: 'A licence, recognised by its text or stated by the operator.' },
)

const notKept = { ...count, description: 'Always 0: a git host keeps no such thing.' }

export const repositorySchema = recordOf(
  {
    id: integer,
    node_id: { ...text, description: 'Opaque.' },
    name: text,
    full_name: { ...text, description: 'Login of the owner and name, joined by a slash.' },
    owner: schemaNamed('user'),
    ...all(['private', 'fork', 'is_template', 'archived', 'disabled'], flag),
    description: { ...text, description: 'Empty where there is none.' },
    ...repositoryAddressesSchema,
    homepage: addressOrNull,
    language: { ...textOrNull, description: 'The one with the most bytes.' },
    forks_count: count,
    ...all(['stargazers_count', 'watchers_count', 'open_issues_count'], notKept),
    size: { ...count, description: 'In KiB on disk.' },
    default_branch: text,
    topics: listOf(text),
    ...all(['has_issues', 'has_projects', 'has_wiki', 'has_pages', 'has_downloads'], flag),
    visibility: { ...text, enum: ['private', 'public'] },
    pushed_at: { ...moment, description: 'The newest commit that any ref leads to. In UTC.' },
    ...all(['created_at', 'updated_at'], { ...moment, description: 'In UTC.' }),
    permissions: recordOf(all(['admin', 'push', 'pull'], flag), {
      description: 'What the caller may do there.',
    }),
    template_repository: {
      ...orNull(schemaNamed('extended-repository')),
      description: 'What it was made from; null where there is none or the caller may not read it.',
    },
  },
  { description: 'A repository as it was when the migration started.' },
)

export const extendedRepositorySchema = recordOf(
  {
    ...repositorySchema.properties,
    ...all(['allow_rebase_merge', 'allow_squash_merge', 'allow_merge_commit'], flag),
    delete_branch_on_merge: flag,
    temp_clone_token: { ...text, description: 'Always empty: no such credential exists.' },
    ...all(['subscribers_count', 'open_issues', 'watchers'], notKept),
    ...all(['network_count', 'forks'], count),
    license: orNull(schemaNamed('license')),
  },
  { description: 'A repository with everything that is said of it.' },
)
