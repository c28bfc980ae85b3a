import type { ExampleName } from './examples.ts'
import { type DescribedAnswer, type HeaderName, json, one, withHeaders } from './operation.ts'

const error = (description: string, example: ExampleName, ...headers: HeaderName[]) =>
  json(description, { schema: one('error'), example, headers })

/** Error responses of the operations of the API. */
export const refusals = {
  'not-modified': {
    description: 'Not modified. Does not count against the rate limit.',
    ...withHeaders('etag', 'link'),
  },
  'bad-request': error(
    'The body is not a JSON object, or the version of the API is unknown.',
    'bad-request',
  ),
  unauthenticated: error('The token is missing or not valid.', 'unauthenticated'),
  forbidden: error(
    'The rate limit is exceeded (with `retry-after`), too many invalid tokens came from this address, or the `user-agent` header is missing.',
    'forbidden',
    'retry-after',
  ),
  'request-timeout': error('The rest of the request did not arrive.', 'request-timeout'),
  'too-many-requests': error(
    'This account has too many requests of a kind under way: downloads and event streams, answers with more than 1,000 repositories, starts and forecasts, or requests whose body is still being sent.',
    'too-many-requests',
    'retry-after',
  ),
  'archive-damaged': error(
    'Stored data of the archive is damaged. Start a new migration.',
    'archive-damaged',
  ),
  'not-found': error(
    'It does not exist, or the caller may not see it. Both get the same answer.',
    'not-found',
  ),
  'too-large': error('The body is larger than 1 MiB.', 'too-large'),
  'not-acceptable': error(
    'The `accept` header does not accept JSON, or lacks the required preview.',
    'not-acceptable',
  ),
  invalid: json('The request is valid JSON, but cannot be done. Nothing was changed.', {
    schema: one('validation-error'),
    example: 'invalid',
  }),
  'invalid-query': json('A parameter has an invalid value, or two parameters exclude each other.', {
    schema: { anyOf: [one('validation-error'), one('error')] },
    example: 'invalid-query',
  }),
  unavailable: error(
    'The server has too much to do, or something that it needs does not answer. Try again later.',
    'unavailable',
    'retry-after',
  ),
  'server-error': error(
    'Server error. The log of the server has the details, by request ID.',
    'server-error',
  ),
} satisfies Record<string, DescribedAnswer>

/** Error responses of a signed link, which needs no token. */
export const linkRefusals = {
  'link-invalid': error('The link is not valid, or has expired.', 'link-invalid'),
  'link-gone': error('The archive was deleted or has expired.', 'not-found'),
  'archive-unreadable': error(
    'The archive cannot be read at the moment. Try again later.',
    'unavailable',
    'retry-after',
  ),
  'range-outside': {
    description: 'The range is outside the archive.',
    ...withHeaders('etag', 'accept-ranges', 'content-disposition', 'content-range'),
  },
} satisfies Record<string, DescribedAnswer>

type RefusalName = keyof typeof refusals | keyof typeof linkRefusals

export const refusal = (name: RefusalName): { $ref: string } => ({
  $ref: `#/components/responses/${name}`,
})
