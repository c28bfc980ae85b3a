import { flag } from '../description/json-schema.ts'
import {
  json,
  OPTIONAL_TOKEN,
  type Operation,
  one,
  parameter,
  several,
} from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'

export const listLicenses = {
  operationId: 'licenses/get-all-commonly-used',
  tags: ['Repositories'],
  summary: 'List the commonly used licences',
  security: OPTIONAL_TOKEN,
  parameters: [
    {
      name: 'featured',
      in: 'query',
      description: 'Only those that are used most. Invalid values are ignored.',
      schema: flag,
    },
    parameter('per-page'),
    parameter('page'),
    parameter('if-none-match'),
  ],
  responses: {
    200: json('One page of the list.', {
      schema: several('license'),
      example: 'licenses',
      headers: ['etag', 'link'],
    }),
    304: refusal('not-modified'),
  },
} satisfies Operation

export const getLicense = {
  operationId: 'licenses/get',
  tags: ['Repositories'],
  summary: 'Get a licence and its text',
  description: 'Any licence of the SPDX list.',
  security: OPTIONAL_TOKEN,
  parameters: [parameter('license'), parameter('if-none-match')],
  responses: {
    200: json('The licence.', {
      schema: one('license-text'),
      example: 'license-text',
      headers: ['etag'],
    }),
    304: refusal('not-modified'),
    404: refusal('not-found'),
  },
} satisfies Operation
