import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { gitHost } from '../support/git-host.ts'
import { sendRaw } from '../support/raw-http.ts'
import { type Service, startService } from '../support/service.ts'
import { type StateWatch, watchState } from '../support/state-digest.ts'

const CASES = shortOrLong({ short: 60, long: 1500 })
const AT_ONCE = 20

let service: Service
let state: StateWatch
let token: string
const t = cleanupAfterFile()

before(async () => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  service = await startService(t, { repositories: host.root, flags: ['--rate-limit', '0'] })
  token = await service.token('alice')
  state = await watchState(t, service)
})

const head = (first: string, ...more: string[]) =>
  [first, 'host: x', 'user-agent: fire', `authorization: bearer ${token}`, ...more, '', ''].join(
    '\r\n',
  )
const START = 'POST /user/migrations HTTP/1.1'
const BODY = '{"repositories":["site"]}'

interface Malformed {
  pieces: () => (string | Buffer)[]
  /**
   * The allowed responses; `closed` if the server may close the connection without a response. It must close
   * it in any case.
   */
  statuses: (number | 'closed')[]
}

const inPieces = (...pieces: (string | Buffer)[]) => pieces

/** All of these try to start a migration, and none may succeed. */
const MALFORMED: Record<string, Malformed> = {
  'a negative length': {
    pieces: () => inPieces(head(START, 'content-length: -5'), BODY),
    statuses: [400],
  },
  'a length that is not a number': {
    pieces: () => inPieces(head(START, 'content-length: 0x19'), BODY),
    statuses: [400],
  },
  'two lengths': {
    pieces: () => inPieces(head(START, 'content-length: 25', 'content-length: 3'), BODY),
    statuses: [400],
  },
  'a length and chunks': {
    pieces: () =>
      inPieces(
        head(START, 'content-length: 25', 'transfer-encoding: chunked'),
        `19\r\n${BODY}\r\n0\r\n\r\n`,
      ),
    statuses: [400],
  },
  'a chunk of absurd size': {
    pieces: () =>
      inPieces(head(START, 'transfer-encoding: chunked'), `FFFFFFFFFFFFFFFFF\r\n${BODY}`),
    statuses: [400, 'closed'],
  },
  'a body that is not chunked': {
    pieces: () => inPieces(head(START, 'transfer-encoding: chunked'), `${BODY}\r\n0\r\n\r\n`),
    statuses: [400, 'closed'],
  },
  'an unknown encoding': {
    pieces: () => inPieces(head(START, 'transfer-encoding: cow'), BODY),
    statuses: [400, 'closed'],
  },
  'a body of a gigabyte, announced': {
    pieces: () => inPieces(head(START, 'content-length: 1073741824'), BODY),
    statuses: [413],
  },
  'a flood of headers': {
    pieces: () => inPieces(head(START, ...Array.from({ length: 3000 }, (_, n) => `x-${n}: ${n}`))),
    statuses: [400, 431],
  },
  'one header of a megabyte': {
    pieces: () => inPieces(head(START, `x: ${'y'.repeat(1 << 20)}`)),
    statuses: [431, 'closed'],
  },
  'an address of a megabyte': {
    pieces: () => inPieces(head(`GET /${'a'.repeat(1 << 20)} HTTP/1.1`)),
    statuses: [414, 431, 'closed'],
  },
  'a header with NUL': { pieces: () => inPieces(head(START, 'x: a\0b')), statuses: [400] },
  'a header without a name': { pieces: () => inPieces(head(START, ': x')), statuses: [400] },
  'a space before the colon': {
    pieces: () => inPieces(head(START, 'content-length : 25'), BODY),
    statuses: [400],
  },
  'a header over two lines': { pieces: () => inPieces(head(START, 'x: a', ' b')), statuses: [400] },
  'no host': { pieces: () => inPieces(`${START}\r\nuser-agent: x\r\n\r\n`), statuses: [400] },
  'a line without an end': {
    pieces: () => inPieces('POST /user/migrations'),
    statuses: [400, 'closed'],
  },
  'half a head': { pieces: () => inPieces(head(START).slice(0, 60)), statuses: [400, 'closed'] },
  'half a body': {
    pieces: () => inPieces(head(START, `content-length: ${BODY.length}`), BODY.slice(0, 10)),
    statuses: [400, 'closed'],
  },
  'another protocol': {
    pieces: () => inPieces('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    statuses: [400, 505, 'closed'],
  },
  'a handshake of TLS': {
    pieces: () => inPieces(Buffer.from('16030100a5010000a10303', 'hex'), Buffer.alloc(160, 7)),
    statuses: [400],
  },
  'HTTP/0.9': { pieces: () => inPieces('GET /healthz\r\n\r\n'), statuses: [200, 400] },
  'an unknown method': { pieces: () => inPieces(head('EVIL /user HTTP/1.1')), statuses: [400] },
  'a tunnel': { pieces: () => inPieces(head('CONNECT a.b:443 HTTP/1.1')), statuses: ['closed'] },
  'an address with a host, as a proxy sends it': {
    pieces: () => inPieces(head('GET http://evil.example/user HTTP/1.1')),
    statuses: [200, 404],
  },
  'an asterisk': { pieces: () => inPieces(head('OPTIONS * HTTP/1.1')), statuses: [204, 400, 404] },
}

test('malformed HTTP is rejected, changes nothing and blocks no other client', async (t) => {
  const before = await state.digest()
  for (const [name, { pieces, statuses }] of Object.entries(MALFORMED)) {
    const response = await sendRaw(service.url, pieces(), { finish: true })
    const [first = 'closed'] = response.statuses
    assert.ok(statuses.includes(first), `${name}: ${first}, ${response.text.slice(0, 200)}`)
    assert.deepEqual(await state.digest(), before, name)
  }
  assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
  reportFault(
    t,
    'invalid HTTP, such as two lengths of one body',
    Object.keys(MALFORMED).length,
    'rejected; nothing changed',
  )
})

test('pipelined requests are answered in order, one response each', async () => {
  const paths = Array.from({ length: 100 }, (_, n) => (n % 2 ? '/healthz' : '/nothing'))
  const pipeline = paths.map((path) => head(`GET ${path} HTTP/1.1`)).join('')
  const { statuses } = await sendRaw(service.url, [pipeline], { responses: paths.length })
  assert.deepEqual(
    statuses,
    paths.map((path) => (path === '/healthz' ? 200 : 404)),
  )
})

test('a request smuggled in the body of another is ignored', async () => {
  const hidden = head('GET /healthz HTTP/1.1')
  const { statuses } = await sendRaw(
    service.url,
    [head(START, `content-length: ${hidden.length}`), hidden],
    { responses: 1 },
  )
  assert.deepEqual(statuses, [400])
})

test('garbage after a complete request does not replace its response', async () => {
  const request = head('POST /user/migrations/preflight HTTP/1.1', `content-length: ${BODY.length}`)
  const { statuses } = await sendRaw(service.url, [`${request}${BODY}nonsense\r\n\r\n`], {})
  assert.deepEqual(statuses, [200])
})

/** Generates valid requests that are cut, duplicated, or have changed bytes. */
function mangled(): Arbitrary<Buffer> {
  const request = fc.constantFrom(
    `${head(START, `content-length: ${BODY.length}`)}${BODY.replace('site', 'none')}`,
    head('GET /user/migrations?page=2 HTTP/1.1', 'if-none-match: *', 'range: bytes=0-'),
    `${head(START, 'transfer-encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
    head('DELETE /user/migrations/1/archive HTTP/1.1', 'connection: keep-alive, upgrade'),
  )
  const edit = fc.record({
    at: fc.nat(400),
    remove: fc.nat(6),
    put: fc.oneof(
      fc.constantFrom('\r', '\n', '\r\n', '\0', ':', ' ', '\t', '\r\n\r\n', 'HTTP/1.1', '\xff'),
      fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    ),
  })
  return fc
    .tuple(request, fc.array(edit, { minLength: 1, maxLength: 5 }), fc.boolean())
    .map(([text, edits, twice]) => {
      const edited = edits.reduce((now, { at, remove, put }) => {
        const offset = at % now.length
        return now.slice(0, offset) + put + now.slice(offset + remove)
      }, text)
      return Buffer.from(twice ? edited + text : edited, 'latin1')
    })
}

test('unexpected bytes cause neither a server error nor a migration', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const before = await state.digest()
  const samples = fc.sample(mangled(), { seed, numRuns: CASES })
  for (let from = 0; from < samples.length; from += AT_ONCE) {
    const batch = samples.slice(from, from + AT_ONCE)
    await Promise.all(
      batch.map(async (bytes) => {
        const { statuses, text } = await sendRaw(service.url, [bytes], { finish: true })
        const shown = JSON.stringify(bytes.toString('latin1'))
        assert.ok(!statuses.some((status) => status >= 500), `${shown}\n${text}`)
      }),
    )
    assert.deepEqual(await state.digest(), before, `seed ${seed}, from ${from}`)
  }
  assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
  reportFault(
    t,
    'requests with random bytes inserted or removed',
    CASES,
    'never a 5xx; nothing changed',
  )
})
