import { once } from 'node:events'
import { createServer } from 'node:http'

/** One answer, exactly as another server gave it. */
export interface Recorded {
  status: number
  headers: [name: string, value: string][]
  /** Base64. */
  body: string
}

/**
 * The limit: node:http that does nothing but send what it was told to send, one answer after the other, whatever it is asked.
 * Reads the answers from standard input, and prints its address.
 */
const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk)
const answers = (JSON.parse(Buffer.concat(chunks).toString()) as Recorded[]).map((recorded) => ({
  status: recorded.status,
  headers: recorded.headers.flat(),
  body: Buffer.from(recorded.body, 'base64'),
}))

let at = 0
const server = createServer((_request, response) => {
  at = (at + 1) % answers.length
  const { status, headers, body } = answers[at]!
  response.writeHead(status, headers)
  response.end(body)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`listening at http://127.0.0.1:${(server.address() as { port: number }).port}`)
