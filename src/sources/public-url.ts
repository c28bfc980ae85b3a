const LONGEST_ADDRESS = 2048

/** An address fit to be shown: of another host, and without what would let somebody in. Null when it is not one. */
export function publicUrl(address: string): string | null {
  if (address.length > LONGEST_ADDRESS) return null
  // user@host:path, as ssh takes it; the user is a name, not a secret.
  if (/^(?:[\w.-]+@)?[\w.-]+\.[\w.-]+:(?!\/\/)[^\s]+$/.test(address)) return address
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^(?:https?|git|ssh|git\+ssh):$/.test(url.protocol) || url.host === '') return null
  url.password = ''
  if (!url.protocol.endsWith('ssh:')) url.username = ''
  url.search = ''
  url.hash = ''
  return url.href
}

/** A page for people: only http and https, so that no address can be a script. */
export function webPage(address: string): string | null {
  if (address.length > LONGEST_ADDRESS) return null
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) return null
  url.username = ''
  url.password = ''
  return url.href
}
