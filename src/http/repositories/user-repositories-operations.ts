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
  description: "The caller's own and those that they administer, as they are now.",
  parameters: [
    inQuery(
      'q',
      text,
      'Part of `owner/name`, in any letter case. An extension of this server, for lists to search in.',
    ),
    inQuery('visibility', oneOf(visibilities, 'all'), 'Only those that are so.'),
    inQuery(
      'affiliation',
      { ...text, default: affiliations.join() },
      "Joined by commas: `owner` for the caller's own, `collaborator` for other people's, `organization_member` for those of organizations.",
    ),
    inQuery(
      'type',
      oneOf(repositoryTypes, 'all'),
      '`member` for all but their own. Not to be sent together with `visibility` or `affiliation`.',
    ),
    inQuery('sort', oneOf(sorts, 'full_name'), 'What to sort by.'),
    inQuery(
      'direction',
      oneOf(directions),
      '`asc` unless told otherwise where it is sorted by `full_name`, `desc` elsewhere.',
    ),
    inQuery('since', moment, 'Only those updated after that.'),
    inQuery('before', moment, 'Only those updated before that.'),
    parameter('per-page'),
    parameter('page'),
    parameter('if-none-match'),
  ],
  responses: {
    200: json('A page of them.', {
      schema: several('extended-repository'),
      example: 'own-repositories',
      headers: ['etag', 'link', 'x-total-count'],
    }),
    304: refusal('not-modified'),
    422: refusal('invalid-query'),
  },
} satisfies Operation
