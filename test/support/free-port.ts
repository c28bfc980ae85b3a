import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'

/** Returns the start of the range from which the kernel takes ports for connections and for servers without a fixed port. */
function firstEphemeralPort(): number {
  try {
    return Number(/^\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')))
  } catch {
    return 49_152
  }
}

const PORT_LIMIT = Math.max(firstEphemeralPort(), 20_000)
const PORT_COUNT = 12_000

/** A port is reserved by listening on it at this second loopback address. */
const RESERVATION_HOST = '127.0.0.2'
const reservations: Server[] = []

/**
 * Returns a port on 127.0.0.1 that nothing listens on, and that no other test gets while this process runs, even
 * while its server is down. It is outside the kernel's range.
 */
export async function freePort(random = Math.random): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = PORT_LIMIT - 1 - Math.floor(random() * PORT_COUNT)
    const reservation = await listen(port, RESERVATION_HOST)
    if (reservation === 'taken') continue
    const probe = await listen(port, '127.0.0.1')
    if (probe !== 'taken' && probe !== 'no such address') {
      await new Promise((resolve) => probe.close(resolve))
      // Where loopback has only one address, the large number of ports has to be enough.
      if (reservation !== 'no such address') reservations.push(reservation)
      return port
    }
    if (reservation !== 'no such address') reservation.close()
  }
  throw new Error(`no port is free between ${PORT_LIMIT - PORT_COUNT} and ${PORT_LIMIT}`)
}

function listen(port: number, host: string): Promise<Server | 'taken' | 'no such address'> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.unref()
    server.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EADDRINUSE') resolve('taken')
      else if (code === 'EADDRNOTAVAIL') resolve('no such address')
      else reject(new Error(`cannot listen on ${host}:${port}: ${code}`))
    })
    server.listen(port, host, () => resolve(server))
  })
}
