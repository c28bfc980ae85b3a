import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { inTime, until } from './wait-until.ts'

export interface RawAnswer {
  /** Of every answer that came back, in order. */
  statuses: number[]
  text: string
}

const QUIET_MS = 400

interface Listening {
  /** Nothing more will be sent: the server is to answer, or not, and to hang up. */
  finish?: boolean
  /** How many answers are waited for; and then for a while, in vain, for more. Otherwise until the server hangs up. */
  answers?: number
}

/** Sends bytes as they are, in the pieces they come in. */
export async function sendRaw(
  url: string,
  pieces: readonly (string | Buffer)[],
  { finish = false, answers }: Listening,
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
  await inTime(`${url} takes a connection`, once(socket, 'connect'))
  for (const piece of pieces) {
    if (isClosed) break
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (finish) socket.end()
  const statuses = () =>
    [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status))
  if (answers === undefined) await inTime(() => `the server hangs up after:\n${text}`, closed)
  else {
    await until(
      () => `${answers} answers came:\n${text}`,
      () => isClosed || statuses().length >= answers,
    )
    await Promise.race([closed, pause(QUIET_MS)])
  }
  socket.destroy()
  return { statuses: statuses(), text }
}
