import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'

/** What the kernel gives to whoever connects, or listens without naming a port: none of it is ours to name. */
function firstOfTheKernel(): number {
  try {
    return Number(/^\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')))
  } catch {
    return 49_152
  }
}

const BELOW = Math.max(firstOfTheKernel(), 20_000)
const HOW_MANY = 12_000

/** Nobody listens here in earnest: who holds a port at this address has it to itself at the other. */
const KEPT_AT = '127.0.0.2'
const kept: Server[] = []

/**
 * A port on 127.0.0.1 that nobody listens on, and that no other test takes for as long as this process lives: also while
 * the server that it is for is down. The kernel does not give it to anyone either.
 */
export async function freePort(random = Math.random): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = BELOW - 1 - Math.floor(random() * HOW_MANY)
    const keeper = await listen(port, KEPT_AT)
    if (keeper === 'taken') continue
    const probe = await listen(port, '127.0.0.1')
    if (probe !== 'taken' && probe !== 'no such address') {
      await new Promise((resolve) => probe.close(resolve))
      // Where loopback has but one address, that the ports are many has to do.
      if (keeper !== 'no such address') kept.push(keeper)
      return port
    }
    if (keeper !== 'no such address') keeper.close()
  }
  throw new Error(`no port is free between ${BELOW - HOW_MANY} and ${BELOW}`)
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
