import type { FastifyInstance } from 'fastify'
import { arrayOf, string } from '../../wire/schema.ts'
import { json, OPTIONAL_TOKEN, type Operation } from '../description/operation.ts'
import { IF_NONE_MATCH } from '../description/parameters.ts'
import { notModified } from '../description/usual-answers.ts'
import { API_VERSIONS } from '../middleware/api-headers.ts'
import { answerIfChanged } from '../middleware/json-answer.ts'

const listVersions = {
  operationId: 'meta/get-all-versions',
  tags: ['Service'],
  summary: 'List the versions of the API',
  security: OPTIONAL_TOKEN,
  parameters: [IF_NONE_MATCH],
  responses: {
    200: json('The versions, newest first.', {
      schema: arrayOf({ ...string, format: 'date' }),
      example: 'versions',
      headers: ['etag'],
    }),
    304: notModified,
  },
} satisfies Operation

export function versions(app: FastifyInstance): void {
  app.get(
    '/versions',
    { config: { anonymous: true }, schema: listVersions },
    async (request, reply) => answerIfChanged(request, reply, API_VERSIONS),
  )
}
