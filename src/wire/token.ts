import { PRINTABLE } from './migration.ts'
import * as s from './schema.ts'

export const MAX_TOKEN_DAYS = 365

export const tokenSchema = s.described('An access token, without the secret.', {
  id: s.integer,
  ...s.each(['login', 'name'], s.string),
  read_only: s.boolean.describe('Whether requests that change something get 403.'),
  organization: s.stringOrNull.describe(
    'The only organization in which the token is valid; null for all.',
  ),
  current: s.boolean.describe('Whether the caller uses this token now.'),
  created_at: s.dateTime,
  ...s.each(['expires_at', 'last_used_at', 'revoked_at'], s.dateTimeOrNull),
  last_used_ip: s.stringOrNull.describe(
    'The address of the last use. Stored, like the time, about once a minute.',
  ),
})

export const newTokenSchema = s.described('A new access token.', {
  ...tokenSchema.properties,
  token: s.string.describe('Not shown again.'),
})

export const tokenRequestSchema = s.request(
  {
    name: s.string.describe('What the token is for, without control characters.', {
      maxLength: 100,
      pattern: PRINTABLE.replace('^', '^(?=.*\\S)'),
    }),
    expires_in_days: s.integer.describe(
      'A token of a session that was opened with a token of the operator cannot outlive that one.',
      { minimum: 1, maximum: MAX_TOKEN_DAYS },
    ),
    read_only: s.boolean.describe('The token can change nothing.', { default: false }),
    organization: s.stringOrNull.describe(
      'An organization of the caller: the token is valid only there.',
    ),
  },
  {
    required: ['name', 'expires_in_days'],
    examples: [{ name: 'laptop', expires_in_days: 90, read_only: true }],
  },
)

export type Token = s.Static<typeof tokenSchema>
export type NewToken = s.Static<typeof newTokenSchema>
export type TokenRequest = s.Static<typeof tokenRequestSchema>
