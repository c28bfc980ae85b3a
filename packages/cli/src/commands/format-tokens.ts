import type { TokenResponse } from '@godwit/contract/client/responses'
import { formatTime } from './print.ts'
import { tableOf } from './table.ts'

export const tokenRows = (tokens: readonly TokenResponse[]) =>
  tableOf(tokens, {
    ID: ({ id }) => id,
    LOGIN: ({ login }) => login,
    NAME: ({ name }) => name || '-',
    STATE: (token) => (token.current ? `${stateOf(token)} (in use)` : stateOf(token)),
    LIMITS: ({ read_only, organization }) =>
      [read_only && 'read-only', organization && `only ${organization}`]
        .filter(Boolean)
        .join(', ') || '-',
    CREATED: ({ created_at }) => formatTime(created_at ?? null),
    EXPIRES: ({ expires_at }) => formatTime(expires_at ?? null),
    'LAST USED': ({ last_used_at, last_used_ip }) =>
      formatTime(last_used_at ?? null) + (last_used_ip ? ` from ${last_used_ip}` : ''),
  })

function stateOf({ revoked_at, expires_at }: TokenResponse): string {
  if (revoked_at) return 'revoked'
  return expires_at && Date.parse(expires_at) <= Date.now() ? 'expired' : 'valid'
}
