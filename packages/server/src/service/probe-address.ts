import { archiveLinks } from '../http/credentials/archive-links.ts'
import { PROBED_TEXT, PROXY_PROBE } from '../http/routes/service/proxy-probe.ts'

export { PROBED_TEXT }

/** Returns the signed URL by which `godwit doctor` tests the proxy in front of a service with this key. */
export function probeAddress(baseUrl: string, key: Buffer, part: 'range' | 'stream'): string {
  const { search } = new URL(archiveLinks(baseUrl, key, 60_000).sign(PROXY_PROBE, Date.now()))
  return `${baseUrl}/proxy-probe${search}&part=${part}`
}
