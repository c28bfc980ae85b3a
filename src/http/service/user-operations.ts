import { json, OPTIONAL_TOKEN, type Operation, one, parameter } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'

export const getUser = {
  operationId: 'users/get-by-username',
  tags: ['Repositories'],
  summary: 'Get a person or an organization',
  description:
    'Without a token: only owners of public repositories. An organization is also 404 for those who are no members and may read none of its repositories.',
  security: OPTIONAL_TOKEN,
  parameters: [parameter('username'), parameter('if-none-match')],
  responses: {
    200: json('The account.', {
      schema: one('current-user'),
      example: 'current-user',
      headers: ['etag'],
    }),
    304: refusal('not-modified'),
    404: refusal('not-found'),
  },
} satisfies Operation
