import { once } from 'node:events'
import { createServer } from 'node:http'

/** One answer, exactly as another server gave it. */
export interface Recorded {
  path: string
  /** Given to those who send `if-none-match`. */
  isConditional: boolean
  status: number
  headers: [name: string, value: string][]
  /** Base64. */
  body: string
}

/**
 * The limit: node:http that does nothing but send what it was told to send. Reads the answers from standard input, and
 * prints its address.
 */
const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk)
const answers = new Map(
  (JSON.parse(Buffer.concat(chunks).toString()) as Recorded[]).map((recorded) => [
    keyOf(recorded.path, recorded.isConditional),
    { ...recorded, headers: recorded.headers.flat(), body: Buffer.from(recorded.body, 'base64') },
  ]),
)

const server = createServer((request, response) => {
  const answer = answers.get(keyOf(request.url!, 'if-none-match' in request.headers))!
  response.writeHead(answer.status, answer.headers)
  response.end(answer.body)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`listening at http://127.0.0.1:${(server.address() as { port: number }).port}`)

function keyOf(path: string, isConditional: boolean): string {
  return `${isConditional} ${path}`
}
