import { Html, html, inline, prose } from './api-docs-html.ts'
import { fieldsTable, schemaLine } from './api-docs-schema.ts'
import { STYLE } from './api-docs-style.ts'
import type { JsonSchema } from './json-schema.ts'
import type { OpenApiDocument, OperationObject } from './openapi-document.ts'
import type { Answer, Tag } from './openapi-operation.ts'

interface Shown {
  method: string
  path: string
  operation: OperationObject
}

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: JsonSchema
}

type Lookup = <T>(node: unknown) => T

/** The description as one page that needs nothing else: no script, no font, no request. */
export function apiDocsPage(document: OpenApiDocument): string {
  const { info, tags, components, servers } = document
  const operations = operationsOf(document)
  const of = (tag: Tag) => operations.filter(({ operation }) => operation.tags[0] === tag)
  const groups = tags.filter(({ name }) => of(name).length > 0)
  const lookup = lookupIn(document)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<div class="frame">
<nav aria-label="Operations">
${groups.map(({ name }) => html`<h2>${name}</h2><ul>${of(name).map(navItem)}</ul>`)}
<h2>Records</h2>
<ul>${Object.keys(components.schemas).map(
    (name) => html`<li><a href="#record-${name}">${name}</a></li>`,
  )}</ul>
</nav>
<main>
<h1>${info.title} API</h1>
<p class="quiet">Version ${info.version} at <code>${servers[0]!.url}</code> ·
<a href="${servers[0]!.url}/openapi.json">OpenAPI description</a></p>
${prose(info.description)}
${groups.map(
  ({ name, description }) =>
    html`<h2>${name}</h2>${prose(description)}${of(name).map((each) => article(each, lookup))}`,
)}
<h2>Records</h2>
${Object.entries(components.schemas).map(
  ([name, schema]) => html`<article id="record-${name}"><h3>${name}</h3>${prose(schema.description)}
<details><summary>Fields</summary>${fieldsTable(schema)}</details></article>`,
)}
</main>
</div>
</body>
</html>
`
  return page.text
}

function operationsOf({ paths }: OpenApiDocument): Shown[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
}

/** Follows a reference into the components. */
function lookupIn(document: OpenApiDocument): Lookup {
  return <T>(node: unknown): T => {
    const { $ref } = node as { $ref?: string }
    if ($ref === undefined) return node as T
    const steps = $ref.slice(2).split('/')
    return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as T
  }
}

const anchorOf = ({ operation }: Shown) => operation.operationId.replace('/', '-')

/** The introduction tells of the headers that every operation has; they would drown the others here. */
const isOwn = (name: string) => !name.startsWith('x-')

const navItem = (shown: Shown) =>
  html`<li><a href="#${anchorOf(shown)}">${shown.operation.summary}</a></li>`

function article(shown: Shown, lookup: Lookup): Html {
  const { method, path, operation } = shown
  const given = (operation.parameters ?? [])
    .map((each) => lookup<Parameter>(each))
    .filter(({ name }) => isOwn(name))
  const body = operation.requestBody?.content['application/json'].schema
  return html`<article id="${anchorOf(shown)}">
<h3><a href="#${anchorOf(shown)}">${operation.summary}</a>
${'x-preview' in operation && html`<span class="note">preview</span>`}
${operation.deprecated && html`<span class="note">former</span>`}
${operation.security && html`<span class="note">no token</span>`}</h3>
<p class="path"><span class="method ${method}">${method.toUpperCase()}</span>${path}</p>
${operation.description !== undefined && prose(operation.description)}
${given.length > 0 && html`<h4>Parameters</h4>${parametersTable(given)}`}
${body && html`<h4>Body</h4>${fieldsTable(body)}`}
<h4>Example</h4>
<pre><code>${operation['x-codeSamples'][0]!.source}</code></pre>
<h4>Answers</h4>
${answersTable(operation, lookup)}
${examples(operation, lookup)}
</article>`
}

function parametersTable(given: Parameter[]): Html {
  const rows = given.map(
    (each) => html`<tr><th scope="row"><code>${each.name}</code></th>
<td><span class="quiet">${each.in}${each.required ? ', required' : ''}, ${schemaLine(each.schema)}</span>
<div>${inline(each.description)}</div></td></tr>`,
  )
  return html`<div class="scroll"><table>${rows}</table></div>`
}

function answersTable(operation: OperationObject, lookup: Lookup): Html {
  const rows = Object.entries(operation.responses).map(([status, answer]) => {
    const { description, content = {}, headers = {} } = lookup<Answer>(answer)
    const kinds = Object.entries(content).map(
      ([type, { schema }]) => html`<div class="quiet">${type}: ${schemaLine(schema)}</div>`,
    )
    const own = Object.keys(headers).filter(isOwn)
    const names = own.map((name) => html`<code>${name}</code> `)
    return html`<tr><th scope="row"><code>${status}</code></th><td>${inline(description)}${kinds}
${names.length > 0 && html`<div class="quiet">headers: ${names}</div>`}</td></tr>`
  })
  return html`<div class="scroll"><table>${rows}</table></div>`
}

/** What a success looks like; refusals all look the same. */
function examples(operation: OperationObject, lookup: Lookup): Html[] {
  return Object.entries(operation.responses)
    .filter(([status]) => Number(status) < 300)
    .flatMap(([status, answer]) =>
      Object.values(lookup<Answer>(answer).content ?? {})
        .flatMap(({ examples = {} }) => Object.values(examples))
        .map((each) => JSON.stringify(lookup<{ value: unknown }>(each).value, null, 2))
        .map(
          (text) => html`<details><summary>An answer with ${status}</summary>
<pre><code>${text}</code></pre></details>`,
        ),
    )
}
