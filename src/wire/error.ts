import { arrayOf, count, enumOf, object, type Static, string, uri } from './schema.ts'

const codes = [
  'missing',
  'missing_field',
  'invalid',
  'already_exists',
  'unprocessable',
  'custom',
] as const

export const errorSchema = object(
  {
    message: string,
    documentation_url: uri,
    status: { ...string, pattern: '^[45]\\d\\d$', description: 'The HTTP status as a string.' },
  },
  { description: 'An error.' },
)

export const validationErrorSchema = object(
  {
    ...errorSchema.properties,
    errors: arrayOf(
      object(
        {
          resource: enumOf(['Migration', 'Repository', 'Service', 'Schedule', 'Hook']),
          field: { ...string, description: 'The field of the request.' },
          code: enumOf(codes),
          index: { ...count, description: 'The index of the element, if the field is a list.' },
          value: {
            ...string,
            description: 'The element, if the list was not part of the request.',
          },
          message: {
            ...string,
            description: 'An explanation for people, if the code is not enough.',
          },
        },
        { optional: ['field', 'index', 'value', 'message'] },
      ),
    ),
  },
  { description: 'The request is valid JSON, but cannot be fulfilled. Nothing was changed.' },
)

export type ApiError = Static<typeof errorSchema>
export type ValidationError = Static<typeof validationErrorSchema>
