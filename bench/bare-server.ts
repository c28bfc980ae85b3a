import { once } from 'node:events'
import { createServer } from 'node:http'

/** A recorded response of another server. */
export interface Recorded {
  status: number
  headers: [name: string, value: string][]
  /** Base64. */
  body: string
}

/**
 * The upper limit for reads: a node:http server that only sends recorded responses, one after the other,
 * whatever the request. It reads the responses from standard input and prints its address.
 */
const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk)
const responses = (JSON.parse(Buffer.concat(chunks).toString()) as Recorded[]).map((recorded) => ({
  status: recorded.status,
  headers: recorded.headers.flat(),
  body: Buffer.from(recorded.body, 'base64'),
}))

let at = 0
const server = createServer((_request, response) => {
  at = (at + 1) % responses.length
  const { status, headers, body } = responses[at]!
  response.writeHead(status, headers)
  response.end(body)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`listening at http://127.0.0.1:${(server.address() as { port: number }).port}`)
