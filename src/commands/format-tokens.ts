import type { TokenResponse } from '../client/responses.ts'
import { formatTime, type Table } from './print.ts'

export const tokenRows = (tokens: readonly TokenResponse[]): Table => [
  ['ID', 'LOGIN', 'NAME', 'STATE', 'LIMITS', 'CREATED', 'EXPIRES', 'LAST USED'],
  ...tokens.map(tokenRow),
]

function tokenRow(token: TokenResponse): string[] {
  const { id, login, name, created_at, expires_at, last_used_at, last_used_ip } = token
  const isExpired = !!expires_at && Date.parse(expires_at) <= Date.now()
  const state = token.revoked_at ? 'revoked' : isExpired ? 'expired' : 'valid'
  const limits = [
    token.read_only && 'read-only',
    token.organization && `only ${token.organization}`,
  ]
  return [
    String(id),
    login,
    name || '-',
    token.current ? `${state} (in use)` : state,
    limits.filter(Boolean).join(', ') || '-',
    ...[created_at, expires_at].map((time) => formatTime(time ?? null)),
    formatTime(last_used_at ?? null) + (last_used_ip ? ` from ${last_used_ip}` : ''),
  ]
}
