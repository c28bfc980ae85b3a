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
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: ['authorization', 'token', 'headers.authorization', 'req.headers.authorization'],
        censor: '[hidden]',
      },
    },
    destination,
  )
  return {
    log,
    close() {
      try {
        destination.flushSync()
      } catch {
        // Nothing was ever written: the stream is not open yet.
      }
    },
  }
}
