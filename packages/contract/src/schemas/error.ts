import * as S from './schema.ts'

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

export const errorSchema = S.described('An error.', {
  message: S.string,
  documentation_url: S.uri,
  status: S.string.describe('The HTTP status as a string.', { pattern: '^[45]\\d\\d$' }),
})

export const validationErrorSchema = S.described(
  'The request is valid JSON, but cannot be fulfilled. Nothing was changed.',
  {
    ...errorSchema.properties,
    errors: S.arrayOf(
      S.object(
        {
          resource: S.enumOf(resources),
          field: S.string.describe('The field of the request.'),
          code: S.enumOf(codes),
          index: S.count.describe('The index of the element, if the field is a list.'),
          value: S.string.describe('The element, if the list was not part of the request.'),
          message: S.string.describe('An explanation for people, if the code is not enough.'),
        },
        { optional: ['field', 'index', 'value', 'message'] },
      ),
    ),
  },
)

export type ApiError = S.Static<typeof errorSchema>
export type ValidationError = S.Static<typeof validationErrorSchema>
