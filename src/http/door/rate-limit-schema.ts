import { count, recordOf, text } from '../description/json-schema.ts'

const rate = recordOf({
  limit: { ...count, description: 'Maximum number of requests per hour; 0 for no limit.' },
  remaining: count,
  used: count,
  reset: { ...count, description: 'Time when the limit is reset, in seconds since 1970 (UTC).' },
  resource: { ...text, enum: ['core', 'search'] },
})

export const rateLimitSchema = recordOf(
  { resources: recordOf({ core: rate, search: rate }), rate },
  { description: 'The rate limit of the caller.' },
)
