import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { TestContext } from 'node:test'

export interface NameServer {
  /** Address and port for a resolver. */
  address: string
  /** The questions so far, such as `A hook.test`. */
  questions: string[]
}

/** Starts a DNS server. `addressesOf` returns the IPv4 addresses for the n-th query of a name, or `silence` for no response. */
export async function nameServer(
  t: Pick<TestContext, 'after'>,
  addressesOf: (name: string, ordinal: number) => string[] | 'silence',
): Promise<NameServer> {
  const socket = createSocket('udp4')
  const questions: string[] = []
  const queryCounts = new Map<string, number>()
  socket.on('message', (message, { port, address }) => {
    const { name, type, end } = questionIn(message)
    questions.push(`${type === 1 ? 'A' : 'AAAA'} ${name}`)
    const ordinal = (queryCounts.get(name) ?? 0) + (type === 1 ? 1 : 0)
    if (type === 1) queryCounts.set(name, ordinal)
    const found = addressesOf(name, ordinal)
    if (found === 'silence') return
    const responses = type === 1 ? found.map(answerRecord) : []
    const header = Buffer.from(message.subarray(0, 12))
    header.writeUInt16BE(0x8180, 2)
    header.writeUInt16BE(responses.length, 6)
    header.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([header, message.subarray(12, end), ...responses]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, questions }
}

function questionIn(message: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = message[at]!; length > 0; length = message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

/** An answer record for the name of the question, with a TTL of 0. */
const answerRecord = (address: string): Buffer =>
  Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)])
