import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface HaltingProxy {
  port: number
  /** From the next connection on: cut it, or let nothing more through, after so many bytes of answers. */
  interrupt(after: number, how: 'cut' | 'stall'): void
  /** What clients sent, all of it. */
  sent(): string
}

/** A network between a client and a server, that fails when it is told to. */
export async function haltingProxy(
  t: Pick<TestContext, 'after'>,
  port: number,
  to: () => number,
): Promise<HaltingProxy> {
  const sockets = new Set<Socket>()
  let next: { after: number; how: 'cut' | 'stall' } | undefined
  let sent = ''
  const server = createServer((client) => {
    const there = connect(to(), '127.0.0.1')
    for (const each of [client, there]) {
      sockets.add(each)
      each.on('error', () => {}).on('close', () => [client, there].map((end) => end.destroy()))
    }
    client.on('data', (bytes: Buffer) => {
      sent += bytes.toString('latin1')
      there.write(bytes)
    })
    let left = Number.POSITIVE_INFINITY
    there.on('data', (bytes: Buffer) => {
      // Only the answer that is long is interrupted.
      if (next && bytes.includes('content-disposition')) left = next.after
      client.write(bytes.subarray(0, left))
      left -= bytes.length
      if (left > 0 || !next) return
      if (next.how === 'cut') client.destroy()
      else there.pause()
      next = undefined
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    interrupt(after, how) {
      next = { after, how }
    },
    sent: () => sent,
  }
}
