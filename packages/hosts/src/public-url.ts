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
  const { origin, href } = url
  // A URI allows fewer characters than browsers do.
  const rest = href.slice(origin.length).replace(NOT_IN_URI, encodeURIComponent)
  return URI.test(origin + rest) ? origin + rest : null
}

const PART = String.raw`(?:[\w!$&'()*+,./:;=?@~-]|%[\da-f]{2})*`
/** RFC 3986, in which only the host may have brackets. */
const URI = new RegExp(String.raw`^https?://[\w.:[\]-]+(?:[/?]${PART})?(?:#${PART})?$`, 'i')
const NOT_IN_URI = /["<>[\\\]^`{|}]|%(?![\da-f]{2})|(?<=#.*)#/gi
