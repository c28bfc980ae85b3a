import { isatty } from 'node:tty'
import { type Logger, pino } from 'pino'
import { escapeJsonLinesForTerminal } from '../lib/terminal-text.ts'
import type { Config } from '../settings/config.ts'
import { LineWriter } from './line-writer.ts'
import { readableLine } from './readable-line.ts'

const STANDARD_ERROR = 2

export interface Log {
  log: Logger
  /** Writes out what is still buffered. */
  close(): Promise<void>
}

/**
 * Lines on standard error or in that file, gathered into larger writes: for programs, or for people where a person looks.
 * Whatever might carry a credential is blanked, even though nothing is meant to log one; and whatever a terminal would obey
 * that shows the log is escaped.
 */
export function openLog(
  { logLevel: level, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>,
  file = STANDARD_ERROR,
): Log {
  const isReadable = logFormat === 'auto' ? isatty(file) : logFormat === 'text'
  const lines = new LineWriter(file, isReadable ? readableLine : undefined)
  const log = pino(
    {
      level,
      base: null,
      timestamp: isoTime(),
      redact: {
        paths: [
          'authorization',
          'token',
          'headers.authorization',
          'req.headers.authorization',
          'cookie',
        ],
        censor: '[hidden]',
      },
    },
    { write: (line: string) => lines.write(escapeJsonLinesForTerminal(line)) },
  )
  process.once('exit', () => lines.writeLast())
  return { log, close: () => lines.close() }
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
