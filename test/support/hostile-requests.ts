import fc, { type Arbitrary } from 'fast-check'
import type { Description, Operation, Parameter } from './openapi-validator.ts'
import { openApiValidator } from './openapi-validator.ts'
import { PREVIEW } from './service.ts'

/** A raw request. */
export interface HostileRequest {
  method: string
  /** The request target, with its query. */
  target: string
  headers: Record<string, string>
  body: Buffer | undefined
}

export interface RequestScene {
  /** Tokens of existing accounts; others are made up. */
  tokens: readonly string[]
  /** Ids of existing migrations of any account. */
  ids: readonly number[]
  /** Full names of existing repositories of any account. */
  repositories: readonly string[]
}

interface Schema {
  type?: string
  properties?: Record<string, Schema>
}

const HOSTILE_TEXTS = [
  ...['', ' ', '.', '..', '../../etc/passwd', '/', '//', '\\', '~', '*', '%', '_', '?', '#', '&=&'],
  ...['\0', 'a\0b', '\x07', '\r\nset-cookie: a=b', '\n', '\t', '\u202e', '\ufeff', '\ud800', '𝕏'],
  ...['%00', '%2e%2e%2f', '%zz', '%', '%c0%af', 'alice%2fsite', '+', ';', ',', '[]', '{}'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'null', 'undefined', 'true', 'NaN'],
  ...['-1', '0', '00', '1.0', '1e9', '1e309', '0x1', '٣', '9007199254740993', '9'.repeat(30), '-0'],
  ..."'; drop table migrations; --|' or '1'='1|\"|`id`|$(id)|$7|{{7*7}}|%s%n|<script>".split('|'),
  ...['--help', '-rf', '@{u}', 'HEAD', 'refs/heads/main', 'repositories', 'x'.repeat(3000)],
]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const USUAL_HEADERS = [
  ...['accept', 'accept-encoding', 'accept-language', 'cache-control', 'content-encoding'],
  ...['content-type', 'cookie', 'if-match', 'if-modified-since', 'if-none-match', 'if-range'],
  ...['last-event-id', 'origin', 'prefer', 'range', 'referer', 'te', 'user-agent', 'via'],
  ...['x-forwarded-host', 'x-forwarded-proto', 'x-github-api-version', 'x-http-method-override'],
  ...['x-original-url', 'x-request-id', 'x-requested-with'],
]
const HEADER_VALUES = [
  ...[PREVIEW, 'application/json', 'text/event-stream', 'text/plain', '*/*;q=0', 'a/b;q=x,,;'],
  ...['gzip', 'identity;q=0', 'bytes=0-', 'bytes=5-1', 'bytes=-0', 'bytes=0-0,2-3', 'bytes=9-x'],
  ...['*', 'W/"x"', '"', '2022-11-28', '1999-01-01', 'application/x-www-form-urlencoded', 'DELETE'],
  'multipart/form-data',
]
const QUERY_NAMES = ['page', 'per_page', 'exclude', 'exclude[]', 'expires', 'sig', 'q', '']

const hostileText: Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...HOSTILE_TEXTS), weight: 5 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 30 }), weight: 2 },
  { arbitrary: fc.string({ maxLength: 30 }), weight: 1 },
)

/** Generates requests to every operation of the API description, each part of them valid or invalid. */
export function hostileRequests(
  description: Description,
  scene: RequestScene,
): Arbitrary<HostileRequest> {
  const { operations, lookup } = openApiValidator(description)
  const known = fc.constantFrom(
    ...[...scene.ids.map(String), ...scene.repositories],
    ...scene.repositories.map((name) => name.split('/')[1]!),
  )
  const value = fc.oneof(
    { arbitrary: known, weight: 2 },
    { arbitrary: hostileText, weight: 3 },
    { arbitrary: fc.integer().map(String), weight: 1 },
  )

  const requestTo = (operation: Operation): Arbitrary<HostileRequest> => {
    const parameters = (operation.parameters ?? []).map((each) => lookup<Parameter>(each))
    const named = (where: Parameter['in']) =>
      parameters.filter((parameter) => parameter.in === where).map(({ name }) => name)
    return fc
      .record({
        method: mostly(fc.constant(operation.method), fc.constantFrom(...METHODS)),
        prefix: fc.constantFrom('', '', '', '/api/v3'),
        path: pathOf(operation.path, value),
        query: queryOf([...named('query'), ...QUERY_NAMES], value),
        headers: headersOf([...named('header'), ...USUAL_HEADERS], scene),
        body: bodyOf(operation, scene),
      })
      .map(({ method, prefix, path, query, headers, body }) => ({
        method,
        target: `${prefix}${path}${query}`,
        headers,
        body: method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? undefined : body,
      }))
  }
  return fc.oneof(...operations.map(requestTo))
}

function mostly<T>(usual: Arbitrary<T>, unusual: Arbitrary<T>): Arbitrary<T> {
  return fc.oneof({ arbitrary: usual, weight: 9 }, { arbitrary: unusual, weight: 1 })
}

/**
 * Removes characters that an HTTP client does not allow in a request target; malformed-http.test.ts tests raw
 * sockets.
 */
const toRawTarget = (text: string) => text.replaceAll(/[^\x21-\x7e]/g, '')
const encodeText = (text: string) => encodeURIComponent(text.toWellFormed())

function pathOf(path: string, value: Arbitrary<string>): Arbitrary<string> {
  const parts = path.split(/(\{\w+\})/)
  const filled = parts.map((part) =>
    part.startsWith('{')
      ? fc.oneof(value.map(encodeText), value.map(encodeText), value.map(toRawTarget))
      : fc.constant(part),
  )
  return mostly(
    fc.tuple(...filled).map((all) => all.join('')),
    hostileText.map((text) => `${path}/${toRawTarget(text)}`),
  )
}

function queryOf(names: string[], value: Arbitrary<string>): Arbitrary<string> {
  const name = mostly(fc.constantFrom(...names), hostileText)
  const pair = fc.tuple(name, value).map(([key, text]) => `${encodeText(key)}=${encodeText(text)}`)
  const pairs = fc.array(fc.oneof(pair, value.map(toRawTarget)), { maxLength: 4 })
  return pairs.map((all) => (all.length === 0 ? '' : `?${all.join('&')}`))
}

const toHeaderValue = (text: string) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')

function headersOf(names: string[], { tokens }: RequestScene): Arbitrary<Record<string, string>> {
  const token = mostly(fc.constantFrom(...tokens), hostileText)
  const scheme = fc.constantFrom('bearer ', 'token ', 'Bearer  ')
  const authorization = mostly(
    fc.tuple(scheme, token).map((both) => both.join('')),
    hostileText,
  )
  const value = fc.oneof(fc.constantFrom(...HEADER_VALUES), hostileText)
  const unusual = fc.dictionary(fc.constantFrom(...names), value.map(toHeaderValue), { maxKeys: 4 })
  // Every request has another address, since an address that tries many tokens is blocked.
  const from = fc.ipV4()
  return fc
    .record({ authorization: fc.option(authorization), from, unusual })
    .map(({ authorization, from, unusual }) => ({
      accept: PREVIEW,
      'user-agent': 'fire',
      'x-forwarded-for': from,
      ...(authorization !== null && { authorization: toHeaderValue(authorization) }),
      ...unusual,
    }))
}

function bodyOf(
  { requestBody }: Operation,
  { repositories }: RequestScene,
): Arbitrary<Buffer | undefined> {
  const name = fc.oneof(
    fc.constantFrom(...repositories, ...repositories.map((full) => full.split('/')[1]!)),
    hostileText,
  )
  const json = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.array(name, { maxLength: 5 }),
    fc.boolean(),
    hostileText,
  )
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema as Schema | undefined
  const fields = Object.entries(schema?.properties ?? {}).map(([key, { type }]) => {
    const valid = type === 'boolean' ? fc.boolean() : fc.array(name, { maxLength: 4 })
    return [key, fc.oneof({ arbitrary: valid, weight: 4 }, { arbitrary: json, weight: 1 })]
  })
  const described: Arbitrary<unknown> = fc.record(Object.fromEntries(fields), { requiredKeys: [] })
  const more = fc.dictionary(hostileText, json, { maxKeys: 2 })
  const text = fc.oneof(
    { arbitrary: described.map((body) => JSON.stringify(body)), weight: 6 },
    {
      arbitrary: fc
        .tuple(described, more)
        .map(([body, extra]) => JSON.stringify({ ...(body as object), ...extra })),
      weight: 2,
    },
    { arbitrary: json.map((value) => JSON.stringify(value)), weight: 1 },
    { arbitrary: fc.constantFrom(...BODIES), weight: 1 },
    { arbitrary: hostileText, weight: 1 },
  )
  const bytes = fc.oneof(
    { arbitrary: text.map((written) => Buffer.from(written)), weight: 12 },
    { arbitrary: fc.uint8Array({ maxLength: 60 }).map((raw) => Buffer.from(raw)), weight: 1 },
  )
  return fc.option(bytes, { nil: undefined })
}

const DEPTH = 20_000
const BODIES = [
  `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`,
  `{"repositories":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`,
  `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`,
  `{"repositories":[${'"site",'.repeat(DEPTH)}"site"]}`,
  '{"repositories":["site"],"repositories":["bob/diary"]}',
  '{"__proto__":{"repositories":["site"]}}',
  '{"constructor":{"prototype":{"x":1}},"repositories":[]}',
  `{"repositories":["site"],"x":${'9'.repeat(5000)}}`,
  '{"repositories":["site"]}x',
  '\ufeff{"repositories":[]}',
  '{"repositories":["si\\u0000te"]}',
  '{"repositories":["\\ud800"]}',
  'repositories=site',
]
