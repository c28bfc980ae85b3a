import { once } from 'node:events'
import { isatty } from 'node:tty'
import { styleText } from 'node:util'
import {
  escapeForTerminal,
  escapeJsonLinesForTerminal,
  escapeLinesForTerminal,
} from '@godwit/lib/terminal-text'
import { type Logger, pino } from 'pino'

const STANDARD_ERROR = 2
const MIN_WRITE_BYTES = 12 * 1024
const FLUSH_INTERVAL_MS = 100
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024
/** How long a process that exits waits for a reader that reads nothing. */
const MAX_STALL_MS = 2000

export interface LogSettings {
  logLevel: string
  logFormat: 'auto' | 'json' | 'text'
}

export interface Log {
  log: Logger
  /** Writes the buffered lines, and closes the file unless it is standard error. */
  close(): Promise<void>
}

/**
 * Opens the log on standard error or another file descriptor: JSON for programs, text for people at a terminal. Values that may be
 * credentials are hidden, and characters that would control a terminal are escaped. If nothing reads the log, lines are lost, but
 * the process can exit and its memory stays limited.
 */
export function openLog({ logLevel: level, logFormat }: LogSettings, file = STANDARD_ERROR): Log {
  const isText = logFormat === 'auto' ? isatty(file) : logFormat === 'text'
  let isClosing = false
  let isBroken = false
  let giveUpAt = Number.POSITIVE_INFINITY
  let lostLines = 0

  const destination = pino.destination({
    dest: file,
    sync: false,
    minLength: MIN_WRITE_BYTES,
    periodicFlush: FLUSH_INTERVAL_MS,
    maxLength: MAX_BUFFERED_BYTES,
    // For text, it would measure all lines that wait with each new one.
    contentMode: 'buffer',
    retryEAGAIN: () => performance.now() < giveUpAt,
  })
  destination.on('drop', () => {
    lostLines++
  })
  destination.on('drain', () => {
    if (lostLines === 0) return
    const count = lostLines
    lostLines = 0
    log.warn(`${count} log lines were lost: the log was not read fast enough`)
  })
  // A log that cannot be written (the disk is full, the pipe is closed) must not stop the service.
  destination.on('error', () => {
    isBroken = true
  })
  destination.on('write', (bytes) => {
    if (bytes > 0) isBroken = false
  })
  // pino calls this when the process exits. Its own version would retry most errors forever.
  const flushSync = destination.flushSync.bind(destination)
  destination.flushSync = () => {
    giveUpAt = performance.now() + MAX_STALL_MS
    try {
      if (!isBroken) flushSync()
    } catch {
      // The reader does not read.
    }
  }

  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
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
    {
      write(line: string) {
        if (isClosing) return
        const bytes = Buffer.from(isText ? formatLine(line) : escapeJsonLinesForTerminal(line))
        // Its type does not know `contentMode`.
        destination.write(bytes as unknown as string)
      },
    },
  )
  /** Writes the buffered lines, as long as the reader reads. */
  async function writeRest(): Promise<void> {
    const stalled = new AbortController()
    const timeout = setTimeout(() => stalled.abort(), MAX_STALL_MS)
    giveUpAt = performance.now() + MAX_STALL_MS
    destination.on('write', () => {
      timeout.refresh()
      giveUpAt = performance.now() + MAX_STALL_MS
    })
    const closed = once(destination, 'close', { signal: stalled.signal })
    destination.end()
    await closed.catch(() => {})
    clearTimeout(timeout)
  }

  return {
    log,
    async close() {
      isClosing = true
      if (!isBroken) await writeRest()
      destination.destroy()
    },
  }
}

const STYLES: Record<string, Parameters<typeof styleText>[0]> = {
  trace: 'gray',
  debug: 'gray',
  info: 'cyan',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
}

interface LogLine extends Record<string, unknown> {
  level: number
  time?: string
  msg?: string
  err?: { stack?: string; message?: string }
}

/** Formats a line of the log for people: time, level, message, then the fields that the message does not contain already. */
export function formatLine(json: string): string {
  const { level, time, msg = '', err, ...fields } = JSON.parse(json) as LogLine
  const label = pino.levels.labels[level] ?? String(level)
  const clock = (time ?? new Date().toISOString()).slice(0, 19).replace('T', ' ')
  const stream = process.stderr
  const colored = styleText(STYLES[label] ?? 'bold', label.toUpperCase().padEnd(5), { stream })
  const details = Object.entries(fields)
    .filter(([, value]) => value != null && !msg.includes(formatValue(value)))
    .map(([name, value]) => escapeForTerminal(`${name}=${formatValue(value)}`))
    .join(' ')
  const first = `${clock} ${colored} ${escapeForTerminal(msg)}${details && styleText('dim', `  ${details}`, { stream })}`
  if (err === undefined) return `${first}\n`
  const stack = escapeLinesForTerminal(err.stack ?? err.message ?? '')
  return `${first}\n${stack.replaceAll(/^/gm, '    ')}\n`
}

const formatValue = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value)
