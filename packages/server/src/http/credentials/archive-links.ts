import { createHmac, timingSafeEqual } from 'node:crypto'

export type ArchiveLinks = ReturnType<typeof archiveLinks>

/**
 * Signs and checks links to archives. The parameter of the signature is called `sig`, because programs that keep credentials out
 * of their logs know that name.
 */
export function archiveLinks(baseUrl: string, key: Buffer, ttlMs: number) {
  const defaultSeconds = Math.floor(ttlMs / 1000)
  const signature = (guid: string, expires: string) =>
    createHmac('sha256', key).update(`${guid}\n${expires}`).digest('hex')

  return {
    /** The default lifetime of a link. */
    seconds: defaultSeconds,

    /** Returns a link that anyone may follow until it expires: it is a credential. */
    sign(guid: string, now: number, seconds = defaultSeconds): string {
      const expires = String(Math.floor(now / 1000) + seconds)
      const query = `expires=${expires}&sig=${signature(guid, expires)}`
      return `${baseUrl}/archives/${guid}.tar.gz?${query}`
    },

    isValid(guid: string, { expires, sig }: Record<string, unknown>, now: number): boolean {
      if (typeof expires !== 'string' || typeof sig !== 'string') return false
      const expected = Buffer.from(signature(guid, expires))
      const sent = Buffer.from(sig)
      return (
        expected.length === sent.length &&
        timingSafeEqual(expected, sent) &&
        Number(expires) * 1000 > now
      )
    },
  }
}
