import { createHmac, timingSafeEqual } from 'node:crypto'

export interface ArchiveLinks {
  /** How long a link is good for. */
  seconds: number
  /** A link that anyone may follow for so long: it is a credential. */
  sign(guid: string, now: number, seconds?: number): string
  isValid(guid: string, query: { expires?: unknown; sig?: unknown }, now: number): boolean
}

/** The signature is called `sig`, the name that programs know which keep credentials out of their logs. */
export function archiveLinks(baseUrl: string, key: Buffer, ttlMs: number): ArchiveLinks {
  const usual = Math.floor(ttlMs / 1000)
  const signature = (guid: string, expires: string) =>
    createHmac('sha256', key).update(`${guid}\n${expires}`).digest('hex')

  return {
    seconds: usual,
    sign(guid, now, seconds = usual) {
      const expires = String(Math.floor(now / 1000) + seconds)
      const query = `expires=${expires}&sig=${signature(guid, expires)}`
      return `${baseUrl}/archives/${guid}.tar.gz?${query}`
    },

    isValid(guid, { expires, sig }, now) {
      if (typeof expires !== 'string' || typeof sig !== 'string') return false
      const right = Buffer.from(signature(guid, expires))
      const sent = Buffer.from(sig)
      return (
        right.length === sent.length && timingSafeEqual(right, sent) && Number(expires) * 1000 > now
      )
    },
  }
}
