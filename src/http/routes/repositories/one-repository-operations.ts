import { boolean, enumOf } from '../../../wire/schema.ts'
import { OPTIONAL_TOKEN, type Operation } from '../../description/operation.ts'
import { IF_NONE_MATCH, inQuery, LENIENT, PAGED, parameter } from '../../description/parameters.ts'
import { current, notFound, notModified, page, record } from '../../description/usual-answers.ts'

const WHO =
  'Public repositories need no token. A repository that the caller may not read does not exist.'
const AT_HAND = 'Also 404 where the server has no access to the repositories themselves.'
const path = [parameter('owner'), parameter('repo')]

export const getRepository = {
  operationId: 'repos/get',
  tags: ['Repositories'],
  summary: 'Get a repository',
  description: WHO,
  security: OPTIONAL_TOKEN,
  parameters: [...path, IF_NONE_MATCH],
  responses: {
    ...current('The repository in its current state.', 'full-repository'),
    404: notFound,
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
    inQuery('protected', boolean, `Only protected branches, or only others. ${LENIENT}`),
    ...PAGED,
  ],
  responses: { ...page('branch', 'branches', 'x-total-count'), 404: notFound },
} satisfies Operation

export const listTags = {
  operationId: 'repos/list-tags',
  tags: ['Repositories'],
  summary: 'List the tags of a repository',
  description: `The newest version first. ${WHO} ${AT_HAND}`,
  security: OPTIONAL_TOKEN,
  parameters: [...path, ...PAGED],
  responses: { ...page('tag', 'tags', 'x-total-count'), 404: notFound },
} satisfies Operation

export const listTopics = {
  operationId: 'repos/get-all-topics',
  tags: ['Repositories'],
  summary: 'List the topics of a repository',
  description: WHO,
  security: OPTIONAL_TOKEN,
  parameters: [...path, ...PAGED],
  responses: {
    200: record('One page of the topics.', 'topics', 'etag', 'link'),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const listLanguages = {
  operationId: 'repos/list-languages',
  tags: ['Repositories'],
  summary: 'List the languages of a repository',
  description: `Counted by the names of files of the default branch. ${WHO} ${AT_HAND}`,
  security: OPTIONAL_TOKEN,
  parameters: [...path, IF_NONE_MATCH],
  responses: { ...current('Bytes by language.', 'languages'), 404: notFound },
} satisfies Operation

export const getLicenseFile = {
  operationId: 'licenses/get-for-repo',
  tags: ['Repositories'],
  summary: 'Get the licence file of a repository',
  description: `404 if the default branch has none. ${WHO} ${AT_HAND}`,
  security: OPTIONAL_TOKEN,
  parameters: [...path, IF_NONE_MATCH],
  responses: { ...current('The file.', 'license-content'), 404: notFound },
} satisfies Operation

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
      enumOf(['outside', 'direct', 'all'], 'all'),
      `\`outside\`: no members of the organization. \`direct\`: named for this repository. ${LENIENT}`,
    ),
    inQuery(
      'permission',
      enumOf(['pull', 'triage', 'push', 'maintain', 'admin']),
      `Only those who have this permission. ${LENIENT}`,
    ),
    ...PAGED,
  ],
  responses: { ...page('collaborator', 'collaborators'), 404: notFound },
} satisfies Operation
