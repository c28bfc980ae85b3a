import { PRINTABLE } from './migration.ts'
import * as S from './schema.ts'

const MAX_TOKEN_DAYS = 365

export const tokenSchema = S.described('An access token, without the secret.', {
  id: S.integer,
  ...S.each(['login', 'name'], S.string),
  read_only: S.boolean.describe('Whether requests that change something get 403.'),
  organization: S.stringOrNull.describe(
    'The only organization in which the token is valid; null for all.',
  ),
  current: S.boolean.describe('Whether the caller uses this token now.'),
  created_at: S.dateTime,
  ...S.each(['expires_at', 'last_used_at', 'revoked_at'], S.dateTimeOrNull),
  last_used_ip: S.stringOrNull.describe(
    'The address of the last use. Stored, like the time, about once a minute.',
  ),
})

export const newTokenSchema = S.described('A new access token.', {
  ...tokenSchema.properties,
  token: S.string.describe('Not shown again.'),
})

export const tokenRequestSchema = S.request(
  {
    name: S.string.describe('What the token is for, without control characters.', {
      maxLength: 100,
      pattern: PRINTABLE.replace('^', '^(?=.*\\S)'),
    }),
    expires_in_days: S.integer.describe(
      'A token of a session that was opened with a token of the operator cannot outlive that one.',
      { minimum: 1, maximum: MAX_TOKEN_DAYS },
    ),
    read_only: S.boolean.describe('The token can change nothing.', { default: false }),
    organization: S.stringOrNull.describe(
      'An organization of the caller: the token is valid only there.',
    ),
  },
  {
    required: ['name', 'expires_in_days'],
    examples: [{ name: 'laptop', expires_in_days: 90, read_only: true }],
  },
)

export type Token = S.Static<typeof tokenSchema>
export type NewToken = S.Static<typeof newTokenSchema>
export type TokenRequest = S.Static<typeof tokenRequestSchema>
