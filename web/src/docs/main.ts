import swaggerUi from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import './docs.css'
import type * as React from 'react'

const description = await readDescription()
const mediaType = requiredMediaType(description)
const webhooksText = JSON.stringify(description.webhooks ?? {}).toLowerCase()

const ui = swaggerUi({
  domNode: document.querySelector('#description'),
  spec: description,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  // Disables the online validator.
  validatorUrl: null,
  plugins: [
    {
      fn: { opsFilter: searchOperations },
      wrapComponents: { responses: withCurlExample(description) },
    },
  ],
  requestInterceptor(request: { headers: Record<string, string> }) {
    if (mediaType) request.headers.Accept = mediaType
    // Uses the session of the dashboard, if there is one.
    request.headers['x-godwit-session'] = '1'
    return request
  },
})

const search = document.querySelector<HTMLInputElement>('#search')!
search.addEventListener('input', () => {
  const words = search.value.trim()
  ui.layoutActions.updateFilter(words)
  // Swagger UI does not filter webhooks.
  document.body.toggleAttribute('data-without-webhooks', !hasWords(webhooksText, words))
})

/** The methods of Swagger UI's immutable lists that are used here. */
interface ImmutableList<T> {
  filter(keep: (item: T) => boolean): ImmutableList<T>
  map(change: (item: T) => T): ImmutableList<T>
  size: number
}

interface OperationItem {
  get(name: 'path' | 'method'): string
  getIn(path: string[]): string | undefined
}

interface Group {
  get(name: 'operations'): ImmutableList<OperationItem>
  set(name: 'operations', operations: ImmutableList<OperationItem>): Group
}

/** Filters operations that contain every word. Swagger UI's own search looks at the names of groups only. */
function searchOperations(groups: ImmutableList<Group>, words: string): ImmutableList<Group> {
  return groups
    .map((group) =>
      group.set(
        'operations',
        group.get('operations').filter((operation) => hasWords(textOf(operation), words)),
      ),
    )
    .filter((group) => group.get('operations').size > 0)
}

/** `text` must be in lower case. */
function hasWords(text: string, words: string): boolean {
  const wanted = words.toLowerCase().split(/\s+/)
  return wanted.every((word) => text.includes(word))
}

function textOf(operation: OperationItem): string {
  const fields = ['summary', 'description', 'operationId']
  const texts = fields.map((name) => operation.getIn(['operation', name]) ?? '')
  return [operation.get('method'), operation.get('path'), ...texts].join(' ').toLowerCase()
}

interface OperationProps {
  path: string
  method: string
}

/** Shows the curl command of an operation, with a copy button, before its responses. */
function withCurlExample(description: Description) {
  return (Responses: React.ComponentType<OperationProps>, system: { React: typeof React }) => {
    const { createElement, Fragment } = system.React
    return (props: OperationProps) => {
      const command = curlExample(description, props.path, props.method)
      const copy = () => navigator.clipboard.writeText(command)
      return createElement(
        Fragment,
        null,
        createElement(
          'div',
          { className: 'curl-example' },
          createElement('h4', null, 'Example'),
          createElement('button', { type: 'button', className: 'btn', onClick: copy }, 'Copy'),
          createElement('pre', { tabIndex: 0 }, command),
        ),
        createElement(Responses, props),
      )
    }
  }
}

/** The parts of the OpenAPI document that the page uses. */
interface Description {
  /** The events that are sent to webhooks. */
  webhooks?: object
  paths: Record<string, Record<string, Operation>>
}

interface Operation {
  'x-codeSamples'?: { source: string }[]
  'x-preview'?: { mediaType: string; required: boolean }
}

async function readDescription(): Promise<Description> {
  const response = await fetch('./openapi.json')
  if (!response.ok) throw new Error(`/openapi.json answered ${response.status}`)
  return (await response.json()) as Description
}

/** Returns the curl command of an operation. */
function curlExample({ paths }: Description, path: string, method: string): string {
  return paths[path]?.[method]?.['x-codeSamples']?.[0]?.source ?? ''
}

/** Returns the media type that clients must accept, if the server requires the preview. */
function requiredMediaType({ paths }: Description): string | undefined {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  return operations.find((operation) => operation['x-preview']?.required)?.['x-preview']?.mediaType
}
