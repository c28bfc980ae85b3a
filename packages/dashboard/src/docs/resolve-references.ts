/**
 * Returns the part of the description at this path with every reference replaced by what it refers to, as Swagger UI's own
 * resolver does, or undefined if there is no such part. That resolver converts the whole description for each part, which
 * takes a second or more. References must be inside the document.
 */
export function resolveReferences(
  description: { security?: unknown },
  path: readonly string[],
  baseUrl: string,
): unknown {
  const { security } = description
  const found = valueAt(description, path)
  return found === undefined ? undefined : resolve(found, [])

  /** `within` are the references around the value: a schema that contains itself keeps its reference. */
  function resolve(value: unknown, within: readonly string[]): unknown {
    if (Array.isArray(value)) return value.map((item) => resolve(item, within))
    if (typeof value !== 'object' || value === null) return value
    const { $ref, ...others } = value as { $ref?: unknown }
    if (typeof $ref !== 'string') return resolveOperation(resolveEach(value, within))
    const address = baseUrl + $ref
    if (within.includes($ref)) return { ...others, $ref: address }
    const target = valueAt(description, namesOf($ref))
    // Swagger UI takes the name of a schema from `$$ref`.
    const resolved = resolve({ ...(target as object), ...others }, [...within, $ref])
    return { ...(resolved as object), $$ref: address }
  }

  /** Adds what Swagger UI expects of an operation: an id of letters, digits and underscores, and its security. */
  function resolveOperation(value: Record<string, unknown>): Record<string, unknown> {
    const { operationId: id } = value
    if (typeof id !== 'string' || !('responses' in value)) return value
    const operation = {
      ...value,
      operationId: id.replaceAll(/\W/g, '_'),
      __originalOperationId: id,
    }
    return { ...(security !== undefined && { security }), ...operation }
  }

  function resolveEach(value: object, within: readonly string[]): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, resolve(item, within)]),
    )
  }
}

function valueAt(description: object, path: readonly string[]): unknown {
  let value: unknown = description
  for (const name of path) value = (value as Record<string, unknown> | undefined)?.[name]
  return value
}

/** Returns the names in a reference such as `#/paths/~1user/get`. */
function namesOf(reference: string): string[] {
  return reference
    .slice('#/'.length)
    .split('/')
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
}
