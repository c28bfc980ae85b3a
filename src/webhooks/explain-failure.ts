import { codeOf } from '../lib/errno.ts'

/** What went wrong, in words that are fit for the owner of a webhook. */
export class SendFailure extends Error {
  override name = 'SendFailure'
}

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed before the answer',
  EPIPE: 'the connection was closed before the answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
  EHOSTDOWN: 'no route to the host',
  EADDRNOTAVAIL: 'no route to the host',
  ETIMEDOUT: 'timed out while connecting',
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'the name has no address',
  EBADNAME: 'the name is not valid',
  ESERVFAIL: 'the name server failed',
  EREFUSED: 'the name server refused to answer',
  ETIMEOUT: 'timed out while looking up the name',
  ECANCELLED: 'timed out while looking up the name',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too large',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: the certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the certificate is from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the certificate is from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS: the certificate is from an unknown authority',
  CERT_HAS_EXPIRED: 'TLS: the certificate has expired',
  CERT_NOT_YET_VALID: 'TLS: the certificate is not valid yet',
}

/** Without addresses: what a name leads to inside a network is not the business of whoever asks. */
export function explainFailure(error: unknown, phase: string): string {
  if (error instanceof SendFailure) return error.message
  const code = codeOf(error) ?? ''
  const words = WORDS[code]
  if (words !== undefined) return words
  if (code.startsWith('HPE_')) return 'the answer is not HTTP'
  if (/^(ERR_SSL_|ERR_TLS_|CERT_|EPROTO$)/.test(code)) return 'TLS: no agreement with the server'
  return `failed while ${phase}${code === '' ? '' : ` (${code})`}`
}
