/** Returns the code of an error of the system or of Node (`ENOENT`, `Z_DATA_ERROR`), undefined for any other error. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : undefined
}

/** Resolves to undefined if the promise rejects with one of these codes. */
export async function ifExists<T>(
  promise: Promise<T>,
  ...codes: readonly [string, ...string[]]
): Promise<T | undefined> {
  try {
    return await promise
  } catch (error) {
    if (hasCode(error, ...codes)) return undefined
    throw error
  }
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  const code = codeOf(error)
  return code !== undefined && codes.includes(code)
}

/** Returns the innermost cause of an error: the error that `fetch` throws has no details. */
export function rootCause(error: unknown): { code: string; message: string; hostname?: string } {
  let inner = error
  while (inner instanceof Error && (inner.cause || inner instanceof AggregateError))
    inner = inner instanceof AggregateError ? inner.errors[0] : inner.cause
  return {
    code: codeOf(inner) ?? '',
    message: inner instanceof Error ? inner.message : String(inner),
    // Errors of DNS have it.
    ...(inner instanceof Error && 'hostname' in inner && { hostname: String(inner.hostname) }),
  }
}

/** Whether TLS could not be negotiated, most often because the server speaks plain HTTP. */
export const isTlsCode = (code: string): boolean => code.startsWith('ERR_SSL_')

/** Whether a certificate is not trusted. */
export const isCertificateCode = (code: string): boolean =>
  /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|HOSTNAME_MISMATCH/.test(code)
