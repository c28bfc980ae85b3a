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
    status: { ...text, pattern: '^[45]\\d\\d$', description: 'The status again, as text.' },
  },
  { description: 'Why a request was refused.' },
)

export const validationErrorSchema = recordOf(
  {
    ...errorSchema.properties,
    errors: listOf(
      recordOf(
        {
          resource: { ...text, enum: ['Migration', 'Repository', 'Service'] },
          field: { ...text, description: 'Which field of the request.' },
          code: { ...text, enum: codes },
          index: { ...count, description: 'Which element, where the field is a list.' },
          message: { ...text, description: 'For people, where the code does not say it all.' },
        },
        { sometimes: ['field', 'index', 'message'] },
      ),
    ),
  },
  { description: 'Why a request that was understood cannot be done. Nothing was changed.' },
)
