/** The opaque global identifier, in the form this field's clients have seen for years: `010:Repository1296269`. */
export function nodeId(type: string, id: number | string): string {
  const text = `0${type.length}:${type}${id}`
  // Licences may be called anything.
  return typeof id === 'number' ? btoa(text) : Buffer.from(text).toString('base64')
}
