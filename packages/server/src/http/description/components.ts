import { count, type Schema, string, uriReference } from '@godwit/contract/schemas/schema'
import * as wire from '@godwit/contract/schemas/types'

type Kebab<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `-${Lowercase<First>}`}${Kebab<Rest>}`
  : ''

export type SchemaName = {
  [Name in keyof typeof wire]: Name extends `${infer Short}Schema` ? Kebab<Short> : never
}[keyof typeof wire]

/** The schemas that operations refer to by name: `startRequestSchema` is `start-request`. */
export const schemas = Object.fromEntries(
  Object.entries(wire)
    .filter(([name]) => name.endsWith('Schema'))
    .map(([name, schema]) => [
      name.replace(/Schema$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      schema as Schema,
    ]),
)

export const headers = {
  etag: { description: 'Send it back as `if-none-match`.', schema: string },
  link: {
    description:
      'URLs of the `prev`, `next`, `last` and `first` page. Missing if there is only one page.',
    schema: string,
  },
  'x-total-count': { description: 'Total number of entries on all pages.', schema: count },
  location: { description: 'The URL.', schema: uriReference },
  'retry-after': { description: 'Seconds to wait before the next attempt.', schema: count },
  'content-range': { description: 'The range of bytes, and the total size.', schema: string },
  'content-disposition': { description: 'A file name.', schema: string },
  'accept-ranges': { description: 'Always `bytes`.', schema: string },
  'x-ratelimit-limit': { description: 'Maximum number of requests per hour.', schema: count },
  'x-ratelimit-remaining': { description: 'Requests left in this hour.', schema: count },
  'x-ratelimit-used': { description: 'Requests used in this hour.', schema: count },
  'x-ratelimit-reset': {
    description: 'Time when the limit is reset, in seconds since 1970 (UTC).',
    schema: count,
  },
  'x-ratelimit-resource': { description: 'Always `core`.', schema: string },
  'request-id': { description: 'ID of the request in the log of the server.', schema: string },
  'media-type': {
    description: 'Media type of the response, such as `github.v3; format=json`.',
    schema: string,
  },
  'version-selected': { description: 'Version of the API that was used.', schema: string },
}
