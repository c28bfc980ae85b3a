import type { Fault } from '../../migrations/refusals.ts'
import { address, count, listOf, recordOf, text } from '../description/json-schema.ts'

const codes = [
  'missing',
  'missing_field',
  'invalid',
  'already_exists',
  'unprocessable',
  'custom',
] satisfies Fault['code'][]

export const errorSchema = recordOf(
  {
    message: text,
    documentation_url: address,
    status: { ...text, pattern: '^[45]\\d\\d$', description: 'The HTTP status as a string.' },
  },
  { description: 'An error.' },
)

export const validationErrorSchema = recordOf(
  {
    ...errorSchema.properties,
    errors: listOf(
      recordOf(
        {
          resource: { ...text, enum: ['Migration', 'Repository', 'Service', 'Schedule', 'Hook'] },
          field: { ...text, description: 'The field of the request.' },
          code: { ...text, enum: codes },
          index: { ...count, description: 'The index of the element, if the field is a list.' },
          value: { ...text, description: 'The element, if the request did not send the list.' },
          message: {
            ...text,
            description: 'An explanation for people, if the code is not enough.',
          },
        },
        { sometimes: ['field', 'index', 'value', 'message'] },
      ),
    ),
  },
  { description: 'The request is valid JSON, but cannot be done. Nothing was changed.' },
)
