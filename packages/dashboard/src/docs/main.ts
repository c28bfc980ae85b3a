import swaggerUi from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import '@primer/primitives/dist/css/primitives.css'
import '@primer/primitives/dist/css/functional/themes/light.css'
import '@primer/primitives/dist/css/functional/themes/dark.css'
import '../page.css'
import './docs.css'
import type * as React from 'react'
import type { Session } from '../api-types.ts'
import { applyColorMode, type ColorMode, storeColorMode, storedMode } from '../theme.ts'
import { resolveReferences } from './resolve-references.ts'

const SESSION_HEADER = { 'x-godwit-session': '1' }

/** Attributes that Swagger UI's elements lack for screen readers and keyboards. */
const MISSING_ATTRIBUTES: [
  selector: string,
  name: string,
  value: string | ((of: Element) => string),
][] = [
  ['.information-container', 'role', 'region'],
  ['.information-container', 'aria-label', 'Introduction'],
  ['.scheme-container', 'role', 'region'],
  ['.scheme-container', 'aria-label', 'Requests from this page'],
  ['#servers', 'aria-label', 'Server'],
  ['h3.opblock-tag, .models > h4', 'aria-level', '2'],
  ['.opblock-body h4', 'aria-level', '3'],
  ['.opblock-body h5', 'aria-level', '4'],
  ['.opblock-body pre', 'tabindex', '0'],
  ['.modal-ux h3', 'aria-level', '2'],
  ['.modal-ux h4', 'aria-level', '3'],
  ['.close-modal', 'aria-label', 'Close the dialog'],
  ['.body-param__text', 'aria-label', 'Request body'],
  ['.content-type', 'aria-label', 'Media type'],
  ['.examples-select-element', 'aria-label', 'Example'],
  ['[data-param-name] :is(input, select, textarea)', 'aria-label', parameterOf],
]

followColorMode()
const [description, login] = await Promise.all([readDescription(), readLogin()])
const mediaType = requiredMediaType(description)
const webhooksText = JSON.stringify(description.webhooks ?? {}).toLowerCase()

const ui = swaggerUi({
  domNode: document.querySelector('#description'),
  spec: {
    ...withoutSharedHeaders(description),
    info: { ...description.info, title: 'Godwit API' },
  },
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  // Its colors are inline styles, which do not follow the theme.
  syntaxHighlight: false,
  // Disables the online validator.
  validatorUrl: null,
  plugins: [
    {
      fn: { opsFilter: searchOperations },
      statePlugins: { spec: { wrapActions: { requestResolvedSubtree: resolveQuickly } } },
      wrapComponents: {
        responses: withCurlExample(description),
        AuthorizeBtnContainer: withCaller,
        DeepLink: withoutLink,
      },
    },
  ],
  requestInterceptor(request: { headers: Record<string, string> }) {
    if (mediaType) request.headers.Accept = mediaType
    // Uses the session of the dashboard, if there is one.
    Object.assign(request.headers, SESSION_HEADER)
    return request
  },
})
listGroups()
new MutationObserver(mendMarkup).observe(document.body, { childList: true, subtree: true })
mendMarkup()

const search = document.querySelector<HTMLInputElement>('#search')!
search.addEventListener('input', filter)
// The user may have typed before this script ran.
if (search.value) filter()

function filter(): void {
  const words = search.value.trim()
  ui.layoutActions.updateFilter(words)
  // Swagger UI does not filter webhooks.
  document.body.toggleAttribute('data-without-webhooks', !hasWords(webhooksText, words))
}

/** Applies the color mode of the dashboard, also when it is changed in another tab. */
function followColorMode(): void {
  const colors = document.querySelector<HTMLSelectElement>('#colors')!
  const show = () => {
    applyColorMode()
    colors.value = storedMode()
  }
  show()
  addEventListener('storage', show)
  colors.addEventListener('change', () => storeColorMode(colors.value as ColorMode))
}

/** Links to each group of operations. Swagger UI follows such links only when the page is loaded. */
function listGroups(): void {
  const links: [text: string, href: string, target: string][] = description.tags.map(({ name }) => [
    name,
    `#/${name}`,
    `[id="operations-tag-${name}"]`,
  ])
  links.push(['Webhook events', '#webhooks', '.webhooks'], ['Schemas', '#schemas', '.models'])
  const groups = document.querySelector('#groups')!
  for (const [text, href, target] of links) {
    const link = groups.appendChild(document.createElement('a'))
    link.textContent = text
    link.href = href
    link.addEventListener('click', (event) => {
      event.preventDefault()
      history.pushState(null, '', href)
      document.querySelector(target)?.scrollIntoView()
    })
  }
}

function mendMarkup(): void {
  for (const [selector, name, value] of MISSING_ATTRIBUTES)
    for (const each of document.querySelectorAll(selector))
      if (!each.hasAttribute(name))
        each.setAttribute(name, typeof value === 'string' ? value : value(each))
}

function parameterOf(control: Element): string {
  return control.closest('[data-param-name]')?.getAttribute('data-param-name') ?? ''
}

/** Removes the headers that every response has: the introduction describes them. */
function withoutSharedHeaders(description: Description): Description {
  const { responses } = description.components
  const shared = Object.keys(responses['not-found']?.headers ?? {})
  const all = Object.values(description.paths).flatMap((methods) =>
    Object.values(methods).flatMap((operation) => Object.values(operation.responses)),
  )
  for (const { headers } of [...all, ...Object.values(responses)])
    for (const name of shared) delete headers?.[name]
  return description
}

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

interface SpecActions {
  specActions: { updateResolvedSubtree(path: readonly string[], value: unknown): unknown }
}

/** Resolves parts of the description without Swagger UI's resolver, which takes seconds. */
function resolveQuickly(
  original: (path: readonly string[]) => unknown,
  { specActions }: SpecActions,
) {
  return (path: readonly string[]) => {
    const value = resolveReferences(description, path, document.baseURI)
    return value === undefined ? original(path) : specActions.updateResolvedSubtree(path, value)
  }
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

/** Replaces a link inside a button, which cannot be used with a keyboard, by its text. */
function withoutLink(_: unknown, system: { React: typeof React }) {
  return ({ text }: { text: string }) => system.React.createElement('span', null, text)
}

/** Says, beside the button for a token, who sends the requests. */
function withCaller(Button: React.ComponentType<object>, system: { React: typeof React }) {
  const { createElement, Fragment } = system.React
  const text = login
    ? [`You are signed in: requests from this page are sent as ${login}, unless you enter a token.`]
    : [
        'You are not signed in. To send requests from this page, enter a token here, or ',
        createElement('a', { key: 'sign-in', href: './' }, 'sign in to the dashboard'),
        '.',
      ]
  return (props: object) =>
    createElement(
      Fragment,
      null,
      createElement('p', { className: 'caller' }, text),
      createElement(Button, props),
    )
}

/** The parts of the OpenAPI document that the page uses. */
interface Description {
  info: object
  tags: { name: string }[]
  security?: unknown
  components: { responses: Record<string, Response>; securitySchemes: object }
  /** The events that are sent to webhooks. */
  webhooks?: object
  paths: Record<string, Record<string, Operation>>
}

interface Response {
  headers?: Record<string, unknown>
}

interface Operation {
  responses: Record<string, Response>
  'x-codeSamples'?: { source: string }[]
  'x-preview'?: { mediaType: string; required: boolean }
}

async function readDescription(): Promise<Description> {
  const response = await fetch('./openapi.json')
  if (!response.ok) throw new Error(`/openapi.json answered ${response.status}`)
  return (await response.json()) as Description
}

/** Returns the login of the session of the dashboard, if there is one. */
async function readLogin(): Promise<string | undefined> {
  const response = await fetch('./session', { headers: SESSION_HEADER })
  if (!response.ok) return undefined
  return ((await response.json()) as Session).user?.login
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
