import { styleText } from 'node:util'
import { escapeForTerminal, escapeLinesForTerminal } from '../lib/terminal-text.ts'

const LEVELS: Record<number, { word: string; style: Parameters<typeof styleText>[0] }> = {
  10: { word: 'TRACE', style: 'gray' },
  20: { word: 'DEBUG', style: 'gray' },
  30: { word: 'INFO', style: 'cyan' },
  40: { word: 'WARN', style: 'yellow' },
  50: { word: 'ERROR', style: 'red' },
  60: { word: 'FATAL', style: 'red' },
}

interface Line extends Record<string, unknown> {
  level: number
  time?: string
  msg?: string
  err?: { stack?: string; message?: string }
}

/** A line of the log for people: time, level, message, then what the message does not say already. */
export function readableLine(json: string): string {
  const { level, time, msg = '', err, ...fields } = JSON.parse(json) as Line
  const { word, style } = LEVELS[level] ?? { word: String(level), style: 'bold' as const }
  const clock = (time ?? new Date().toISOString()).slice(0, 19).replace('T', ' ')
  const painted = styleText(style, word.padEnd(5), { stream: process.stderr })
  const told = Object.entries(fields).filter(([, value]) => isWorthTelling(value, msg))
  const rest = told.map(([name, value]) => escapeForTerminal(`${name}=${inWords(value)}`)).join(' ')
  const first = `${clock} ${painted} ${escapeForTerminal(msg)}${rest && styleText('dim', `  ${rest}`, { stream: process.stderr })}`
  return err === undefined
    ? `${first}\n`
    : `${first}\n${indented(err.stack ?? err.message ?? '')}\n`
}

function isWorthTelling(value: unknown, message: string): boolean {
  if (value === null || value === undefined) return false
  return !message.includes(inWords(value))
}

const inWords = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value)

const indented = (text: string): string =>
  escapeLinesForTerminal(text)
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')
