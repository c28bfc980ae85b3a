import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { randomNumbers } from '../test/support/random-numbers.ts'

/** Input, read from standard input as JSON. */
export interface CrowdInput {
  url: string
  /** The requests, each with its own headers. */
  requests: { path: string; authorization: string; 'if-none-match'?: string }[]
  headers: Record<string, string>
  connections: number
  /** How long to send requests, in an order that never repeats. Default: every request once. */
  seconds?: number
}

/** Output, written to standard output as JSON. */
export interface CrowdOutput {
  responses: number
  seconds: number
}

/**
 * Keep-alive clients that never pause. They use raw sockets and parse only the length of a response, which costs
 * a fraction of the server's work, so that the server is the bottleneck.
 */
const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk)
const input = JSON.parse(Buffer.concat(chunks).toString()) as CrowdInput
const { hostname, port } = new URL(input.url)
const requests = input.requests.map(({ path, ...own }) => {
  const headers = Object.entries({ host: `${hostname}:${port}`, ...own, ...input.headers })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
})

const next = inNoOrder()
const sockets = await Promise.all(Array.from({ length: input.connections }, connected))
const began = performance.now()
const endsAt = input.seconds === undefined ? Number.POSITIVE_INFINITY : began + input.seconds * 1000
let responses = 0
await Promise.all(sockets.map(ask))
const result: CrowdOutput = { responses, seconds: (performance.now() - began) / 1000 }
console.log(JSON.stringify(result))

/** Returns every request once, then every request again in another order, and so on; undefined at the end. */
function inNoOrder(): () => Buffer | undefined {
  const numbers = randomNumbers(1)
  let left: Buffer[] = []
  let passes = 0
  return () => {
    if (left.length === 0) {
      if (passes > 0 && input.seconds === undefined) return undefined
      passes++
      left = [...requests]
    }
    const at = Math.floor(numbers() * left.length)
    const chosen = left[at]!
    const last = left.pop()!
    if (at < left.length) left[at] = last
    return chosen
  }
}

async function connected(): Promise<Socket> {
  const socket = connect(Number(port), hostname)
  socket.setNoDelay()
  await once(socket, 'connect')
  return socket
}

async function ask(socket: Socket): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed a connection')))
    let missing = 0
    const askNext = () => {
      const request = performance.now() < endsAt ? next() : undefined
      if (request) socket.write(request)
      else resolve()
    }
    socket.on('data', (bytes: Buffer) => {
      missing = missing > 0 ? missing - bytes.length : missingAfter(bytes)
      if (missing > 0) return
      responses++
      askNext()
    })
    askNext()
  })
  await ended
  socket.removeAllListeners()
  socket.destroy()
}

/** Returns how many bytes of the response are still to come. The head of a response always arrives in one chunk here. */
function missingAfter(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) throw new Error('a head in two pieces')
  const head = bytes.toString('latin1', 0, end)
  if (!head.startsWith('HTTP/1.1 200') && !head.startsWith('HTTP/1.1 304')) {
    throw new Error(bytes.toString())
  }
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? '0'
  return end + 4 + Number(length) - bytes.length
}
