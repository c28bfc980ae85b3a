/**
 * The forge cannot answer now and will later: it said so, it is away, or the budget of requests is used up. Whoever has the
 * job gives it back and does not try before `dueAt`, in epoch milliseconds. `message` is fit for a user to see.
 */
export class WaitUntil extends Error {
  override name = 'WaitUntil'
  readonly dueAt: number
  /** `told` by the forge, kept back by our own `budget`, or it is `away`: only the last may be given up some day. */
  readonly why: 'told' | 'budget' | 'away'

  constructor(dueAt: number, why: WaitUntil['why'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.dueAt = dueAt
    this.why = why
  }
}

/** The forge answers, and the answer is of no use: trying again soon will not help. `message` is fit for a user to see. */
export class ForgeRefused extends Error {
  override name = 'ForgeRefused'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** 404: it is not there, or not for this token to see; or this version of the forge does not know the address. */
export class NotThere extends ForgeRefused {
  override name = 'NotThere'
}

/** A file whose length the forge did not list, and which is longer than is taken so. */
export class TooLarge extends ForgeRefused {
  override name = 'TooLarge'
}

/** 500: the forge failed over this one request. Some versions answer so for what was deleted. */
export class ForgeFailed extends ForgeRefused {
  override name = 'ForgeFailed'
}

/** Why no answer came, in words that an operator can act on; `url` has no secret in it. */
export function whyUnreachable(url: string, error: unknown): string {
  const { code, message } = innermost(error)
  const { host } = new URL(url)
  if (code === 'ECONNREFUSED') return `nothing answers at ${url}: check that the forge is running`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no such host: ${host}`
  if (isCertificateTrouble(code))
    return `the certificate of ${host} is not trusted (${code}): set NODE_EXTRA_CA_CERTS=FILE to trust your own authority`
  return `the connection to ${url} broke: ${message || code}`
}

/** A certificate does not become right by waiting. */
export const isCertificateError = (error: unknown): boolean =>
  isCertificateTrouble(innermost(error).code)

const isCertificateTrouble = (code: string) =>
  /CERT|SELF_SIGNED|ERR_TLS|ERR_SSL|UNABLE_TO_VERIFY|HOSTNAME_MISMATCH/.test(code)

/** What fetch throws says nothing; what caused it does. */
function innermost(error: unknown): { code: string; message: string } {
  let inner = error
  while (inner instanceof Error && (inner.cause || inner instanceof AggregateError))
    inner = inner instanceof AggregateError ? inner.errors[0] : inner.cause
  const { code, message } = (inner ?? {}) as { code?: unknown; message?: unknown }
  return { code: typeof code === 'string' ? code : '', message: String(message ?? inner) }
}
