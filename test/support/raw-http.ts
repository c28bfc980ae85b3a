import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { until, withTimeout } from './wait-until.ts'

export interface RawResponse {
  /** The status of every response, in order. */
  statuses: number[]
  text: string
}

const QUIET_MS = 400

interface WaitOptions {
  /** Whether the client ends its side after sending, so that the server responds and closes the connection. */
  finish?: boolean
  /**
   * How many responses to wait for; then it waits a while for unexpected ones. Default: until the server closes
   * the connection.
   */
  responses?: number
}

/** Sends raw bytes in the given chunks. */
export async function sendRaw(
  url: string,
  pieces: readonly (string | Buffer)[],
  { finish = false, responses }: WaitOptions,
): Promise<RawResponse> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  let isClosed = false
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      isClosed = true
      resolve()
    })
  })
  // A connection that the server resets in the middle of invalid input is a valid outcome.
  socket.on('error', () => {})
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  await withTimeout(`${url} accepts a connection`, once(socket, 'connect'))
  for (const piece of pieces) {
    if (isClosed) break
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (finish) socket.end()
  const statuses = () =>
    [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status))
  if (responses === undefined)
    await withTimeout(() => `the server closes the connection after:\n${text}`, closed)
  else {
    await until(
      () => `${responses} responses arrived:\n${text}`,
      () => isClosed || statuses().length >= responses,
    )
    await Promise.race([closed, pause(QUIET_MS)])
  }
  socket.destroy()
  return { statuses: statuses(), text }
}
