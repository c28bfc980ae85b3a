import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'

/** What one greedy client sends, each request on a connection of its own, all at once. */
export interface GreedyOrder {
  url: string
  /** Sent as they are. */
  requests: string[]
  /** After how long each connection is closed; without it, when the server has closed it. */
  closeAfterMs?: number
}

const { url, requests, closeAfterMs } = workerData as GreedyOrder
const { hostname, port } = new URL(url)

/** Takes what it gets as fast as it comes, and does nothing with it. */
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
