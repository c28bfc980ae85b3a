/** The opaque global identifier, in the form this field's clients have seen for years: `010:Repository1296269`. */
export function nodeId(type: string, id: number | string): string {
  return Buffer.from(`0${type.length}:${type}${id}`).toString('base64')
}
