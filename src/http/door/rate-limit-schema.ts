import { count, recordOf, text } from '../description/json-schema.ts'

const rate = recordOf({
  limit: { ...count, description: 'Requests in an hour; 0 where there is no limit.' },
  remaining: count,
  used: count,
  reset: { ...count, description: 'When it starts anew, in seconds since 1970.' },
  resource: { ...text, enum: ['core', 'search'] },
})

export const rateLimitSchema = recordOf(
  { resources: recordOf({ core: rate, search: rate }), rate },
  { description: 'What the caller has left of this hour.' },
)
