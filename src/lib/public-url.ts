const MAX_LENGTH = 2048

/** Returns the address of another host without credentials, fit to be published, or null if it is not such an address. */
export function publicUrl(address: string): string | null {
  if (address.length > MAX_LENGTH) return null
  const url = URL.parse(asSshUrl(address))
  if (!url || !/^(?:https?|git|ssh|git\+ssh):$/.test(url.protocol) || url.host === '') return null
  url.password = ''
  if (!url.protocol.endsWith('ssh:')) url.username = ''
  url.search = ''
  url.hash = ''
  return url.href
}

/** Converts `user@host:path`, the form of ssh, to a URL. The user of ssh is not a secret. */
function asSshUrl(address: string): string {
  const [, host, path] = /^((?:[\w.-]+@)?[\w.-]+\.[\w.-]+):(?!\/\/)(\S+)$/.exec(address) ?? []
  return host && path ? `ssh://${host}/${path.replace(/^\//, '')}` : address
}

/** Returns the address of a web page, or null: only http and https, so that no link is a script. A valid URI is unchanged. */
export function webPage(address: string): string | null {
  if (address.length > MAX_LENGTH) return null
  const url = URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  const written = address.trim()
  if (!url.username && !url.password && URI.test(written)) return written
  url.username = ''
  url.password = ''
  // Unlike browsers, a URI allows none of these characters in a query or fragment, and no percent sign without two digits.
  const href = url.href.replace(/["<>\\^`{|}]|%(?![\dA-F]{2})|(?<=#.*)#/gi, encodeURIComponent)
  return URI.test(href) ? href : null
}

/** The characters of a URI (RFC 3986). */
const URI = /^(?:[\w!$&'()*+,\-./:;=?@[\]~]|%[\dA-F]{2})+(?:#(?:[\w!$&'()*+,\-./:;=?@~]|%[\dA-F]{2})*)?$/i

