import { type DescribedAnswer, json, one, withHeaders } from './operation.ts'

/** By any operation of the API. */
export const refusals = {
  'not-modified': {
    description: 'The caller has it already. Not counted against the rate limit.',
    ...withHeaders('etag'),
  },
  'bad-request': json('A body that is no JSON object, or a version of the API that is not known.', {
    schema: one('error'),
    example: 'bad-request',
  }),
  unauthenticated: json('No token was sent, or one that is not valid.', {
    schema: one('error'),
    example: 'unauthenticated',
  }),
  forbidden: json(
    'The rate limit is used up (with `retry-after`), too many wrong tokens came from this address, or the request says no `user-agent`.',
    { schema: one('error'), example: 'forbidden', headers: ['retry-after'] },
  ),
  'too-many-streams': json('This account has too many downloads and event streams open.', {
    schema: one('error'),
    example: 'too-many-streams',
    headers: ['retry-after'],
  }),
  'not-found': json(
    "There is none, or it is not the caller's to know of: the two are never told apart.",
    { schema: one('error'), example: 'not-found' },
  ),
  'too-large': json('The body is larger than 1 MiB.', {
    schema: one('error'),
    example: 'too-large',
  }),
  'not-acceptable': json(
    'The `accept` header leaves out JSON or, where it is required, the preview.',
    { schema: one('error'), example: 'not-acceptable' },
  ),
  invalid: json('The request was understood and cannot be done. Nothing was changed.', {
    schema: one('validation-error'),
    example: 'invalid',
  }),
  'invalid-query': json('A parameter has a value that it cannot have, or two exclude each other.', {
    schema: { anyOf: [one('validation-error'), one('error')] },
    example: 'invalid-query',
  }),
  'server-error': json('A fault of the server; its log has more, by the id of the request.', {
    schema: one('error'),
    example: 'server-error',
  }),
} satisfies Record<string, DescribedAnswer>

/** By a link, which no token goes with. */
export const linkRefusals = {
  'link-invalid': json('The link was changed, or its five minutes are over.', {
    schema: one('error'),
    example: 'link-invalid',
  }),
  'link-gone': json('The archive was deleted, or its time is over.', {
    schema: one('error'),
    example: 'not-found',
  }),
  'archive-unreadable': json('The archive cannot be read at the moment.', {
    schema: one('error'),
    example: 'unavailable',
    headers: ['retry-after'],
  }),
  'range-outside': {
    description: 'The range lies outside of the archive.',
    ...withHeaders('etag', 'accept-ranges', 'content-disposition', 'content-range'),
  },
} satisfies Record<string, DescribedAnswer>

type RefusalName = keyof typeof refusals | keyof typeof linkRefusals

export const refusal = (name: RefusalName): { $ref: string } => ({
  $ref: `#/components/responses/${name}`,
})
