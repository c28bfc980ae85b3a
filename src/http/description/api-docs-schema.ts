import { type Html, html, inline } from './api-docs-html.ts'
import type { JsonSchema } from './json-schema.ts'

interface Readable {
  $ref?: string
  type?: string | string[]
  format?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  description?: string
  items?: JsonSchema
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
}

/** What a value is, in a line. */
export function schemaLine(schema: JsonSchema): Html {
  const { $ref, type, format, items, anyOf, default: otherwise, ...rest } = schema as Readable
  if ($ref) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    return html`<a href="#record-${name}">${name}</a>`
  }
  if (anyOf) return html`${anyOf.map((each, i) => html`${i > 0 && ' or '}${schemaLine(each)}`)}`
  if (items) return html`list of ${schemaLine(items)}`
  const values = rest.const === undefined ? rest.enum : [rest.const]
  const kinds = [type ?? []].flat().join(' or ')
  return html`${values ? values.join(' | ') : kinds || 'bytes'}${format && ` (${format})`}${
    otherwise !== undefined && `, ${otherwise} unless told`
  }`
}

/** One row a field; the fields of a record inside it follow it, by their whole names. */
export function fieldsTable(schema: JsonSchema): Html {
  return html`<div class="scroll"><table>${rows(schema)}</table></div>`
}

function rows(schema: JsonSchema, within = ''): Html[] {
  const { properties = {}, required = [] } = schema as Readable
  return Object.entries(properties).flatMap(([name, field]) => {
    const { description, items } = field as Readable
    const at = `${within}${name}`
    const row = html`<tr><th scope="row"><code>${at}</code></th>
<td><span class="quiet">${schemaLine(field)}${!required.includes(name) && ', optional'}</span>
${description !== undefined && html`<div>${inline(description)}</div>`}</td></tr>`
    return [row, ...rows(field, `${at}.`), ...(items ? rows(items, `${at}[].`) : [])]
  })
}
