import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { randomNumbers } from '../test/support/random-numbers.ts'

/** Read from standard input. */
export interface CrowdOrder {
  url: string
  /** Each with headers of its own. */
  asked: { path: string; authorization: string; 'if-none-match'?: string }[]
  headers: Record<string, string>
  connections: number
  /** For so long, in an order that never repeats; without it every request once. */
  seconds?: number
}

/** Written to standard output. */
export interface CrowdAnswers {
  answers: number
  seconds: number
}

/**
 * Clients that never pause, with sockets of their own: reading the least that tells where an answer ends costs a fraction of
 * what any server needs to give it, so that what is measured is the server.
 */
const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk)
const order = JSON.parse(Buffer.concat(chunks).toString()) as CrowdOrder
const { hostname, port } = new URL(order.url)
const requests = order.asked.map(({ path, ...own }) => {
  const headers = Object.entries({ host: `${hostname}:${port}`, ...own, ...order.headers })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
})

const next = inNoOrder()
const sockets = await Promise.all(Array.from({ length: order.connections }, connected))
const began = performance.now()
const endsAt = order.seconds === undefined ? Number.POSITIVE_INFINITY : began + order.seconds * 1000
let answers = 0
await Promise.all(sockets.map(ask))
const told: CrowdAnswers = { answers, seconds: (performance.now() - began) / 1000 }
console.log(JSON.stringify(told))

/** Every request once, then every one again in another order, and so on; undefined at the end. */
function inNoOrder(): () => Buffer | undefined {
  const numbers = randomNumbers(1)
  let left: Buffer[] = []
  let passes = 0
  return () => {
    if (left.length === 0) {
      if (passes > 0 && order.seconds === undefined) return undefined
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
      answers++
      askNext()
    })
    askNext()
  })
  await ended
  socket.removeAllListeners()
  socket.destroy()
}

/** How many bytes of the answer are still to come. A head comes in one piece: they are small, and the first to be sent. */
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
