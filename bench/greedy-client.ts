import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'

/** The requests of the greedy client: all are sent at once, each on its own connection. */
export interface GreedyRequests {
  url: string
  /** Raw HTTP requests. */
  requests: string[]
  /** When the client closes each connection. Default: it waits until the server closes it. */
  closeAfterMs?: number
}

const { url, requests, closeAfterMs } = workerData as GreedyRequests
const { hostname, port } = new URL(url)

/** Reads and discards the responses. */
await Promise.all(
  requests.map(async (request) => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {}).resume()
    const closed = once(socket, 'close')
    socket.write(request)
    if (closeAfterMs !== undefined) {
      await sleep(closeAfterMs)
      socket.destroy()
    }
    await closed
  }),
)
