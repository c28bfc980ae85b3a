import { flag, type JsonSchema, text } from '../description/json-schema.ts'
import {
  json,
  OPTIONAL_TOKEN,
  type Operation,
  one,
  parameter,
  several,
} from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'

const WHO =
  'Public repositories need no token. A repository that the caller may not read does not exist.'
const AT_HAND = 'Also 404 where the server has no access to the repositories themselves.'
const path = [parameter('owner'), parameter('repo')]
const paged = [parameter('per-page'), parameter('page')]
const known = parameter('if-none-match')
const refusals = { 304: refusal('not-modified'), 404: refusal('not-found') }

const inQuery = (name: string, schema: JsonSchema, description: string) => ({
  name,
  in: 'query',
  description: `${description} Invalid values are ignored.`,
  schema,
})

export const getRepository = {
  operationId: 'repos/get',
  tags: ['Repositories'],
  summary: 'Get a repository',
  description: WHO,
  security: OPTIONAL_TOKEN,
  parameters: [...path, known],
  responses: {
    200: json('The repository in its current state.', {
      schema: one('full-repository'),
      example: 'full-repository',
      headers: ['etag'],
    }),
    ...refusals,
  },
} satisfies Operation

export const listBranches = {
  operationId: 'repos/list-branches',
  tags: ['Repositories'],
  summary: 'List the branches of a repository',
  description: `By name. ${WHO} ${AT_HAND}`,
  security: OPTIONAL_TOKEN,
  parameters: [
    ...path,
    inQuery('protected', flag, 'Only protected branches, or only others.'),
    ...paged,
    known,
  ],
  responses: {
    200: json('One page of the list.', {
      schema: several('branch'),
      example: 'branches',
      headers: ['etag', 'link', 'x-total-count'],
    }),
    ...refusals,
  },
} satisfies Operation

export const listTags = {
  operationId: 'repos/list-tags',
  tags: ['Repositories'],
  summary: 'List the tags of a repository',
  description: `The newest version first. ${WHO} ${AT_HAND}`,
  security: OPTIONAL_TOKEN,
  parameters: [...path, ...paged, known],
  responses: {
    200: json('One page of the list.', {
      schema: several('tag'),
      example: 'tags',
      headers: ['etag', 'link', 'x-total-count'],
    }),
    ...refusals,
  },
} satisfies Operation

export const listTopics = {
  operationId: 'repos/get-all-topics',
  tags: ['Repositories'],
  summary: 'List the topics of a repository',
  description: WHO,
  security: OPTIONAL_TOKEN,
  parameters: [...path, ...paged, known],
  responses: {
    200: json('One page of the topics.', {
      schema: one('topics'),
      example: 'topics',
      headers: ['etag', 'link'],
    }),
    ...refusals,
  },
} satisfies Operation

export const listLanguages = {
  operationId: 'repos/list-languages',
  tags: ['Repositories'],
  summary: 'List the languages of a repository',
  description: `Counted by the names of files of the default branch. ${WHO} ${AT_HAND}`,
  security: OPTIONAL_TOKEN,
  parameters: [...path, known],
  responses: {
    200: json('Bytes by language.', {
      schema: one('languages'),
      example: 'languages',
      headers: ['etag'],
    }),
    ...refusals,
  },
} satisfies Operation

export const getLicenseFile = {
  operationId: 'licenses/get-for-repo',
  tags: ['Repositories'],
  summary: 'Get the licence file of a repository',
  description: `404 if the default branch has none. ${WHO} ${AT_HAND}`,
  security: OPTIONAL_TOKEN,
  parameters: [...path, known],
  responses: {
    200: json('The file.', {
      schema: one('license-content'),
      example: 'license-content',
      headers: ['etag'],
    }),
    ...refusals,
  },
} satisfies Operation

const oneOf = (values: string[]) => ({ ...text, enum: values })

export const listCollaborators = {
  operationId: 'repos/list-collaborators',
  tags: ['Repositories'],
  summary: 'List the collaborators of a repository',
  description:
    'The owner, the owners of the organization, and those whom its config or the forge names, if they have an account here. 403 for those who may not push.',
  parameters: [
    ...path,
    inQuery(
      'affiliation',
      { ...oneOf(['outside', 'direct', 'all']), default: 'all' },
      '`outside`: no members of the organization. `direct`: named for this repository.',
    ),
    inQuery(
      'permission',
      oneOf(['pull', 'triage', 'push', 'maintain', 'admin']),
      'Only those who have this permission.',
    ),
    ...paged,
    known,
  ],
  responses: {
    200: json('One page of the list.', {
      schema: several('collaborator'),
      example: 'collaborators',
      headers: ['etag', 'link'],
    }),
    ...refusals,
  },
} satisfies Operation
