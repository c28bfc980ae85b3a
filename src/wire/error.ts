import * as s from './schema.ts'

const codes = [
  'missing',
  'missing_field',
  'invalid',
  'already_exists',
  'unprocessable',
  'custom',
] as const
const resources = [
  'Migration',
  'Repository',
  'Service',
  'Schedule',
  'Hook',
  'Token',
  'Audit',
] as const

export const errorSchema = s.described('An error.', {
  message: s.string,
  documentation_url: s.uri,
  status: s.string.describe('The HTTP status as a string.', { pattern: '^[45]\\d\\d$' }),
})

export const validationErrorSchema = s.described(
  'The request is valid JSON, but cannot be fulfilled. Nothing was changed.',
  {
    ...errorSchema.properties,
    errors: s.arrayOf(
      s.object(
        {
          resource: s.enumOf(resources),
          field: s.string.describe('The field of the request.'),
          code: s.enumOf(codes),
          index: s.count.describe('The index of the element, if the field is a list.'),
          value: s.string.describe('The element, if the list was not part of the request.'),
          message: s.string.describe('An explanation for people, if the code is not enough.'),
        },
        { optional: ['field', 'index', 'value', 'message'] },
      ),
    ),
  },
)

export type ApiError = s.Static<typeof errorSchema>
export type ValidationError = s.Static<typeof validationErrorSchema>
