import { isCertificateCode, isTlsCode, rootCause } from '../../../lib/errno.ts'

/** Why no answer came, in words that an operator can act on; `url` has no secret in it. */
export function whyUnreachable(url: string, error: unknown): string {
  const { code, message } = rootCause(error)
  const { host } = new URL(url)
  if (code === 'ECONNREFUSED') return `nothing answers at ${url}: check that the forge is running`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no such host: ${host}`
  if (isTlsCode(code))
    return `no TLS connection to ${url} (${code}): check http or https in --forge`
  if (isCertificateCode(code))
    return `the certificate of ${host} is not trusted (${code}): set NODE_EXTRA_CA_CERTS=FILE to trust your own authority`
  return `the connection to ${url} broke: ${message || code}`
}

/** Whether no TLS is spoken there, or its certificate is not trusted: neither becomes right by waiting. */
export function isTlsError(error: unknown): boolean {
  const { code } = rootCause(error)
  return isTlsCode(code) || isCertificateCode(code)
}
