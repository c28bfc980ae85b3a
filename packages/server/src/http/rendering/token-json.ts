import type * as wire from '@godwit/contract/schemas/types'
import type { Viewer } from '../../accounts/account.ts'
import type { TokenRecord } from '../../accounts/token-store.ts'
import { utcTimestamp, utcTimestampOrNull } from './rendering.ts'

export const tokenJson = (
  token: TokenRecord,
  { tokenId }: Pick<Viewer, 'tokenId'>,
): wire.Token => ({
  id: token.id,
  login: token.login,
  name: token.name,
  read_only: token.isReadOnly,
  organization: token.organization,
  current: token.id === tokenId,
  created_at: utcTimestamp(token.createdAt),
  expires_at: utcTimestampOrNull(token.expiresAt),
  last_used_at: utcTimestampOrNull(token.lastUsedAt),
  last_used_ip: token.lastUsedIp,
  revoked_at: utcTimestampOrNull(token.revokedAt),
})
