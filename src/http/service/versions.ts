import type { FastifyInstance } from 'fastify'
import { text } from '../description/json-schema.ts'
import { json, OPTIONAL_TOKEN, type Operation, parameter } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { answerIfChanged } from '../door/json-answer.ts'
import { API_VERSIONS } from '../door/manners.ts'

const listVersions = {
  operationId: 'meta/get-all-versions',
  tags: ['Service'],
  summary: 'List the versions of the API',
  security: OPTIONAL_TOKEN,
  parameters: [parameter('if-none-match')],
  responses: {
    200: json('The versions, newest first.', {
      schema: { type: 'array', items: { ...text, format: 'date' } },
      example: 'versions',
      headers: ['etag'],
    }),
    304: refusal('not-modified'),
  },
} satisfies Operation

export function versions(app: FastifyInstance): void {
  app.get(
    '/versions',
    { config: { anonymous: true }, schema: listVersions },
    async (request, reply) => answerIfChanged(request, reply, API_VERSIONS),
  )
}
