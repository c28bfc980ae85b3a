import { type Logger, pino } from 'pino'

export interface Log {
  log: Logger
  /** Writes out what is still buffered. */
  close(): void
}

/**
 * Structured lines on standard error, gathered into larger writes. Whatever might carry a credential is blanked, even
 * though nothing is meant to log one.
 */
export function openLog(level: string): Log {
  const destination = pino.destination({ fd: 2, sync: false, minLength: 8192, periodicFlush: 500 })
  const lines = gatherLines((text) => destination.write(text))
  const log = pino(
    {
      level,
      base: null,
      timestamp: isoTime(),
      redact: {
        paths: ['authorization', 'token', 'headers.authorization', 'req.headers.authorization'],
        censor: '[hidden]',
      },
    },
    lines,
  )
  return {
    log,
    close() {
      lines.pass()
      try {
        destination.flushSync()
      } catch {
        // Nothing was ever written: the stream is not open yet.
      }
    },
  }
}

/** What is logged in one turn of the event loop goes on as one text: each costs the stream as much as a line would. */
function gatherLines(passOn: (text: string) => void) {
  let gathered = ''
  const pass = () => {
    if (gathered !== '') passOn(gathered)
    gathered = ''
  }
  const write = (line: string) => {
    if (gathered === '') setImmediate(pass)
    gathered += line
  }
  return { write, pass }
}

/** The same as pino's own, but the date is made once a second and not once a line. */
function isoTime(): () => string {
  let second = 0
  let upToSecond = ''
  return () => {
    const now = Date.now()
    const millisecond = now % 1000
    if (now - millisecond !== second) {
      second = now - millisecond
      upToSecond = new Date(second).toISOString().slice(0, 20)
    }
    return `,"time":"${upToSecond}${String(millisecond).padStart(3, '0')}Z"`
  }
}
