import { once } from 'node:events'
import { connect } from 'node:net'

export interface RawAnswer {
  /** Of every answer that came back, in order. */
  statuses: number[]
  text: string
  /** Whether the server ended the connection. */
  isClosed: boolean
}

const QUIET_MS = 400

/**
 * Sends bytes as they are, in the pieces they come in, and listens until the server closes or has been silent for a while
 * after its last word.
 */
export async function sendRaw(
  url: string,
  pieces: readonly (string | Buffer)[],
  { quietMs = QUIET_MS, finish = false } = {},
): Promise<RawAnswer> {
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
  // That the server hangs up in the middle of nonsense is an answer too.
  socket.on('error', () => {})
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  await once(socket, 'connect')
  for (const piece of pieces) {
    if (isClosed) break
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (finish) socket.end()
  for (let heard = -1; !isClosed && heard !== text.length; ) {
    heard = text.length
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, quietMs))])
  }
  socket.destroy()
  const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status))
  return { statuses, text, isClosed }
}
