/** Returns GitHub's global identifier in its old form, base64 of `010:Repository1296269`. */
export function nodeId(type: string, id: number | string): string {
  const text = `0${type.length}:${type}${id}`
  // `btoa` is faster, but fails for the characters that a licence's key may have.
  return typeof id === 'number' ? btoa(text) : Buffer.from(text).toString('base64')
}
