const LONGEST_ADDRESS = 2048

/** An address fit to be shown: of another host, and without what would let somebody in. Null when it is not one. */
export function publicUrl(address: string): string | null {
  if (address.length > LONGEST_ADDRESS) return null
  const url = URL.parse(asSshUrl(address))
  if (!url || !/^(?:https?|git|ssh|git\+ssh):$/.test(url.protocol) || url.host === '') return null
  url.password = ''
  if (!url.protocol.endsWith('ssh:')) url.username = ''
  url.search = ''
  url.hash = ''
  return url.href
}

/** `user@host:path`, as ssh takes it, is no URL; the user is a name, not a secret. */
function asSshUrl(address: string): string {
  const [, host, path] = /^((?:[\w.-]+@)?[\w.-]+\.[\w.-]+):(?!\/\/)(\S+)$/.exec(address) ?? []
  return host && path ? `ssh://${host}/${path.replace(/^\//, '')}` : address
}

/** A page for people: only http and https, so that no address can be a script. As it was written, where that is safe and an address. */
export function webPage(address: string): string | null {
  if (address.length > LONGEST_ADDRESS) return null
  const url = URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  const written = address.trim()
  if (!url.username && !url.password && /^[!-~]+$/.test(written)) return written
  url.username = ''
  url.password = ''
  return url.href
}
