import { createHmac, timingSafeEqual } from 'node:crypto'

export const LINK_SECONDS = 300

export interface ArchiveLinks {
  /** A link that anyone may follow for so long: it is a credential. */
  sign(guid: string, now: number, seconds?: number): string
  isValid(guid: string, query: { expires?: unknown; signature?: unknown }, now: number): boolean
}

export function archiveLinks(baseUrl: string, key: Buffer): ArchiveLinks {
  const signature = (guid: string, expires: string) =>
    createHmac('sha256', key).update(`${guid}\n${expires}`).digest('hex')

  return {
    sign(guid, now, seconds = LINK_SECONDS) {
      const expires = String(Math.floor(now / 1000) + seconds)
      const query = `expires=${expires}&signature=${signature(guid, expires)}`
      return `${baseUrl}/archives/${guid}.tar.gz?${query}`
    },

    isValid(guid, { expires, signature: given }, now) {
      if (typeof expires !== 'string' || typeof given !== 'string') return false
      const right = Buffer.from(signature(guid, expires))
      const sent = Buffer.from(given)
      return (
        right.length === sent.length && timingSafeEqual(right, sent) && Number(expires) * 1000 > now
      )
    },
  }
}
