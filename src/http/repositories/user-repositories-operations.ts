import { affiliations } from '../../repositories/administered-repositories.ts'
import { moment, text } from '../description/json-schema.ts'
import { json, type Operation, parameter, several } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { directions, repositoryTypes, sorts, visibilities } from './repository-query.ts'

const inQuery = (name: string, schema: object, description: string) => ({
  name,
  in: 'query',
  description,
  schema,
})
const oneOf = (values: readonly string[], usual?: string) => ({
  ...text,
  enum: [...values],
  ...(usual !== undefined && { default: usual }),
})

export const listUserRepositories = {
  operationId: 'repos/list-for-authenticated-user',
  tags: ['Caller'],
  summary: 'List the repositories that the caller may migrate',
  description: 'Repositories that the caller owns or administers, in their current state.',
  parameters: [
    inQuery(
      'q',
      text,
      'Text to search for in `owner/name`; case is ignored. An extension of this server.',
    ),
    inQuery('visibility', oneOf(visibilities, 'all'), 'Only repositories with this visibility.'),
    inQuery(
      'affiliation',
      { ...text, default: affiliations.join() },
      "Separated by commas: `owner` for the caller's own repositories, `collaborator` for those of other users, `organization_member` for those of organizations.",
    ),
    inQuery(
      'type',
      oneOf(repositoryTypes, 'all'),
      '`member` for all except their own. Cannot be used together with `visibility` or `affiliation`.',
    ),
    inQuery('sort', oneOf(sorts, 'full_name'), 'Field to sort by.'),
    inQuery(
      'direction',
      oneOf(directions),
      'Default `asc` when sorted by `full_name`, otherwise `desc`.',
    ),
    inQuery('since', moment, 'Only repositories updated after this time.'),
    inQuery('before', moment, 'Only repositories updated before this time.'),
    parameter('per-page'),
    parameter('page'),
    parameter('if-none-match'),
  ],
  responses: {
    200: json('One page of the list.', {
      schema: several('extended-repository'),
      example: 'own-repositories',
      headers: ['etag', 'link', 'x-total-count'],
    }),
    304: refusal('not-modified'),
    422: refusal('invalid-query'),
  },
} satisfies Operation
