import {
  address,
  addressOrNull,
  all,
  count,
  flag,
  listOf,
  orNull,
  recordOf,
  schemaNamed,
  text,
} from '../description/json-schema.ts'
import { userSchema } from '../users/user-schema.ts'
import { extendedRepositorySchema } from './repository-schema.ts'

const commit = recordOf({ sha: text, url: address })
const forebear = schemaNamed('extended-repository')

export const fullRepositorySchema = recordOf(
  {
    ...extendedRepositorySchema.properties,
    has_discussions: { const: false },
    organization: {
      ...schemaNamed('user'),
      description: 'The owner, if that is an organization.',
    },
    parent: { ...forebear, description: 'What it is a fork of, if the caller may read that.' },
    source: {
      ...forebear,
      description: 'What its parent goes back to, if the caller may read that.',
    },
  },
  {
    description: 'A repository in its current state.',
    sometimes: ['organization', 'parent', 'source'],
  },
)

export const branchSchema = recordOf(
  {
    name: text,
    commit,
    protected: {
      ...flag,
      description:
        'Set for the default branch, if the config of the repository denies deletes or non-fast-forwards.',
    },
  },
  { description: 'A branch.' },
)

export const tagSchema = recordOf(
  {
    name: text,
    ...all(['zipball_url', 'tarball_url'], {
      ...address,
      description: 'This server does not answer there.',
    }),
    commit,
    node_id: { ...text, description: 'Opaque.' },
  },
  { description: 'A tag and the commit that it names in the end.' },
)

export const topicsSchema = recordOf({ names: listOf(text) }, { description: 'Topics.' })

export const languagesSchema = {
  type: 'object',
  description: 'Bytes by language, the largest first.',
  additionalProperties: count,
}

export const collaboratorSchema = recordOf(
  {
    ...userSchema.properties,
    permissions: recordOf(all(['admin', 'maintain', 'push', 'triage', 'pull'], flag)),
    role_name: { ...text, enum: ['read', 'triage', 'write', 'maintain', 'admin'] },
  },
  { description: 'Somebody who may read or change a repository.' },
)

export const licenseContentSchema = recordOf(
  {
    ...all(['name', 'path', 'sha', 'type'], text),
    size: { ...count, description: 'In bytes.' },
    ...all(['url', 'html_url', 'git_url'], address),
    download_url: { ...addressOrNull, description: 'Always null.' },
    content: { ...text, description: 'In base64.' },
    encoding: { const: 'base64' },
    _links: recordOf(all(['self', 'git', 'html'], address)),
    license: orNull(schemaNamed('license')),
  },
  { description: 'The licence file of a repository.' },
)
