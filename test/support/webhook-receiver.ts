import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

interface Received {
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export interface Receiver {
  url: string
  /** All deliveries, in order. */
  received: Received[]
  /** Responds to the next deliveries. */
  respond: (response: ServerResponse, request: Received) => void
}

/** Starts a server that receives webhooks. It responds with 200 until `answer` is replaced. */
export async function webhookReceiver(
  t: Pick<TestContext, 'after'>,
  { host = '127.0.0.1', port = 0 } = {},
): Promise<Receiver> {
  const receiver: Receiver = {
    url: '',
    received: [],
    respond: (response) => void response.end('thanks'),
  }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const received = { path: request.url ?? '', headers: request.headers, body }
    receiver.received.push(received)
    receiver.respond(response, received)
  })
  receiver.url = `http://${host}:${await listen(t, server, host, port)}`
  return receiver
}

/** Listens and returns the port. */
export async function listen(
  t: Pick<TestContext, 'after'>,
  server: Pick<Server, 'listen' | 'once' | 'address' | 'close'> & {
    closeAllConnections?(): void
  },
  host = '127.0.0.1',
  port = 0,
): Promise<number> {
  server.listen(port, host)
  await once(server as Server, 'listening')
  t.after(() => {
    server.closeAllConnections?.()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
