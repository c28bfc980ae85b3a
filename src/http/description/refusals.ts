import { type DescribedAnswer, json, one, withHeaders } from './operation.ts'

/** By any operation of the API. */
export const refusals = {
  'not-modified': {
    description: 'Not modified. Does not count against the rate limit.',
    ...withHeaders('etag', 'link'),
  },
  'bad-request': json('The body is not a JSON object, or the version of the API is unknown.', {
    schema: one('error'),
    example: 'bad-request',
  }),
  unauthenticated: json('The token is missing or not valid.', {
    schema: one('error'),
    example: 'unauthenticated',
  }),
  forbidden: json(
    'The rate limit is exceeded (with `retry-after`), too many invalid tokens came from this address, or the `user-agent` header is missing.',
    { schema: one('error'), example: 'forbidden', headers: ['retry-after'] },
  ),
  'too-many-streams': json('This account has too many downloads and event streams open.', {
    schema: one('error'),
    example: 'too-many-streams',
    headers: ['retry-after'],
  }),
  'not-found': json('It does not exist, or the caller may not see it. Both get the same answer.', {
    schema: one('error'),
    example: 'not-found',
  }),
  'too-large': json('The body is larger than 1 MiB.', {
    schema: one('error'),
    example: 'too-large',
  }),
  'not-acceptable': json(
    'The `accept` header does not accept JSON, or lacks the required preview.',
    { schema: one('error'), example: 'not-acceptable' },
  ),
  invalid: json('The request is valid JSON, but cannot be done. Nothing was changed.', {
    schema: one('validation-error'),
    example: 'invalid',
  }),
  'invalid-query': json('A parameter has an invalid value, or two parameters exclude each other.', {
    schema: { anyOf: [one('validation-error'), one('error')] },
    example: 'invalid-query',
  }),
  unavailable: json(
    'The server has too much to do, or something that it needs does not answer. Try again later.',
    { schema: one('error'), example: 'unavailable', headers: ['retry-after'] },
  ),
  'server-error': json('Server error. The log of the server has the details, by request ID.', {
    schema: one('error'),
    example: 'server-error',
  }),
} satisfies Record<string, DescribedAnswer>

/** By a link, which no token goes with. */
export const linkRefusals = {
  'link-invalid': json('The link is not valid, or has expired.', {
    schema: one('error'),
    example: 'link-invalid',
  }),
  'link-gone': json('The archive was deleted or has expired.', {
    schema: one('error'),
    example: 'not-found',
  }),
  'archive-unreadable': json('The archive cannot be read at the moment. Try again later.', {
    schema: one('error'),
    example: 'unavailable',
    headers: ['retry-after'],
  }),
  'range-outside': {
    description: 'The range is outside the archive.',
    ...withHeaders('etag', 'accept-ranges', 'content-disposition', 'content-range'),
  },
} satisfies Record<string, DescribedAnswer>

type RefusalName = keyof typeof refusals | keyof typeof linkRefusals

export const refusal = (name: RefusalName): { $ref: string } => ({
  $ref: `#/components/responses/${name}`,
})
