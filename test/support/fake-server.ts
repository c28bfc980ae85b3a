import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { lastLines, showOnFailure } from './show-on-failure.ts'

interface RecordedRequest {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export interface FakeServer {
  url: string
  requests: RecordedRequest[]
}

export type RequestHandler = (request: RecordedRequest, response: ServerResponse) => void

/** Starts a server that responds with the given function and records all requests. */
export async function fakeServer(
  t: Pick<TestContext, 'after'>,
  respond: RequestHandler,
): Promise<FakeServer> {
  const requests: RecordedRequest[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    const { method = '', url = '', headers } = request
    requests.push({ method, path: url, headers, body })
    respond(requests.at(-1)!, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const hideRequests = showOnFailure(`the requests to the server at port ${port}`, () =>
    lastLines(requests.map(({ method, path }) => `${method} ${path}`)),
  )
  t.after(() => {
    hideRequests()
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${port}`, requests }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify(body))
}
