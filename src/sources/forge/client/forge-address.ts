/** The address of a forge cannot be used. */
export class UnusableAddress extends Error {
  override name = 'UnusableAddress'
}

/**
 * Where a forge lives, without a slash at the end: `https://git.example.com`, or below a path where it is installed so.
 * People copy what their browser or their client shows, so `/api/v1` at the end is taken off.
 */
export function forgeAddress(said: string): string {
  if (!URL.canParse(said)) throw new UnusableAddress(`not an address of a forge: ${shown(said)}`)
  const url = new URL(said)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new UnusableAddress(`the address of a forge begins with https:// or http://: ${said}`)
  if (url.username || url.password)
    throw new UnusableAddress('the address of a forge holds no name and no password')
  if (url.search || url.hash)
    throw new UnusableAddress(
      `the address of a forge ends with its path: ${url.origin}${url.pathname}`,
    )
  const path = url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
  return `${url.origin}${path}`
}

/** What is no address may be anything, a secret too. */
const shown = (said: string) => (/^[\w.:/-]{1,80}$/.test(said) ? said : '(not shown)')

/** One segment of a path; a name of a forge has no slash, and what has one is no name. */
export const segment = (name: string | number): string => encodeURIComponent(String(name))
