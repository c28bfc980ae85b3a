import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { before, type TestContext, test } from 'node:test'
import { assertFinding, doctor } from '../support/doctor-scene.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { gitHost } from '../support/git-host.ts'
import type { SharedService } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

let service: SharedService

const fileCleanup = cleanupAfterFile()

before(async () => {
  const host = await gitHost()
  fileCleanup.after(host.remove)
  const flags = ['--trusted-proxies', '127.0.0.1']
  service = await startSharedService(fileCleanup, { repositories: host.root, flags })
})

interface ProxyBehaviour {
  /** Changes a request before it is forwarded. */
  changeHeaders?: (headers: NonNullable<RequestOptions['headers']>) => void
  /** Sends the response of the service on to the client. */
  respond?: (from: IncomingMessage, to: ServerResponse) => void
}

/** Runs the checks with a proxy of this behaviour in front of the service. */
async function doctorBehindProxy(
  t: TestContext,
  { changeHeaders, respond = forward }: ProxyBehaviour,
) {
  const { port } = new URL(service.url)
  const proxy = createServer((incoming, outgoing) => {
    const headers: Record<string, unknown> = { ...incoming.headers, 'x-forwarded-for': '192.0.2.7' }
    changeHeaders?.(headers as never)
    const { url: path, method } = incoming
    request({ host: '127.0.0.1', port, path, method, headers: headers as never }, (response) =>
      respond(response, outgoing),
    )
      .on('error', () => outgoing.destroy())
      .end()
  }).listen(0, '127.0.0.1')
  t.after(() => proxy.close())
  await once(proxy, 'listening')
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return doctor({ data: service.data, listen: new URL(service.url).host, baseUrl })
}

function forward(from: IncomingMessage, to: ServerResponse): void {
  to.writeHead(from.statusCode!, from.headers)
  to.flushHeaders()
  from.pipe(to)
  to.on('close', () => from.destroy())
}

test('a proxy that forwards everything passes', async (t) => {
  const findings = await doctorBehindProxy(t, {})
  assertFinding(
    findings,
    'proxy',
    'passed',
    /reaches this service, with streams, ranges and addresses$/,
  )
})

test('a proxy that buffers streams is reported', async (t) => {
  const findings = await doctorBehindProxy(t, {
    async respond(from, to) {
      const all = await buffer(from)
      to.writeHead(from.statusCode!, from.headers).end(all)
    },
  })
  assertFinding(findings, 'proxy', 'warning', /buffers streams/)
})

test('a proxy that drops range headers is reported', async (t) => {
  const findings = await doctorBehindProxy(t, {
    changeHeaders: (headers) => delete (headers as { range?: string }).range,
  })
  assertFinding(findings, 'proxy', 'warning', /does not pass on ranges/)
})

test('a proxy without x-forwarded-for is reported', async (t) => {
  const findings = await doctorBehindProxy(t, {
    changeHeaders: (headers) =>
      delete (headers as { 'x-forwarded-for'?: string })['x-forwarded-for'],
  })
  assertFinding(
    findings,
    'trusted-proxies',
    'warning',
    /127\.0\.0\.1 does not send x-forwarded-for/,
  )
})

test('a base URL that leads to another server, or to none, is reported', async (t) => {
  const elsewhere = await doctorBehindProxy(t, {
    respond: (from, to) => {
      from.resume()
      to.writeHead(200).end('<h1>Welcome</h1>')
    },
  })
  assertFinding(
    elsewhere,
    'proxy',
    'warning',
    /returns status 200, but not from the service that runs here/,
  )
  const nowhere = await doctorBehindProxy(t, { respond: (_, to) => to.destroy() })
  assertFinding(nowhere, 'proxy', 'warning', /cannot be reached from here/)
})

test('a service that listens on the port of http without a proxy is not taken for one', async (t) => {
  const { port } = new URL(service.url)
  const direct = createServer(({ url: path, method }, outgoing) => {
    request({ host: '127.0.0.1', port, path, method }, (response) =>
      forward(response, outgoing),
    ).end()
  })
  t.after(() => direct.close())
  const error = await once(direct.listen(80, '127.0.0.80'), 'listening').then(
    () => undefined,
    (refusal: NodeJS.ErrnoException) => refusal,
  )
  if (error) return t.skip(`port 80 cannot be used here: ${error.code}`)
  const settings = { data: service.data, listen: '127.0.0.80:80', baseUrl: 'http://127.0.0.80' }
  const findings = await doctor(settings)
  assertFinding(findings, 'listen', 'passed', /a service runs at 127\.0\.0\.80:80/)
  assert.deepEqual(
    findings.filter(({ check, state }) => check === 'proxy' || state === 'error'),
    [],
  )
})

test('the probe responds only to a URL signed with the key of the service', async () => {
  const expires = Math.floor(Date.now() / 1000) + 60
  for (const query of ['', `?expires=${expires}&sig=${'0'.repeat(64)}`, '?part=stream'])
    assert.equal((await fetch(`${service.url}/proxy-probe${query}`)).status, 404)
})
