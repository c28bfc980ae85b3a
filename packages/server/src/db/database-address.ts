/** Returns the address of a database for messages, without its password. */
export function withoutPassword(address: string): string {
  const url = new URL(address)
  if (url.password) url.password = '***'
  // The query may contain a password as well.
  url.search = ''
  return url.href
}
