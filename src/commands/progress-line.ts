import { escapeForTerminal, escapeLinesForTerminal } from '../lib/terminal-text.ts'
import { paint } from './paint.ts'

/** The last line of a terminal, drawn again and again. Disposing leaves the terminal as it was. */
export interface ProgressLine extends Disposable {
  /** How much is done, from 0 to 1, if that is known, and what is going on. Nothing where nobody watches. */
  show(part: number | undefined, text: string): void
  /** A line that stays. */
  say(text: string): void
  /** The same of parts that were made harmless before they were painted. */
  sayPainted(text: string): void
}

export function progressLine(to: NodeJS.WriteStream): ProgressLine {
  const say = (text: string) => to.write(`${escapeLinesForTerminal(text)}\n`)
  const sayPainted = (text: string) => to.write(`${text}\n`)
  if (!to.isTTY) return { show() {}, say, sayPainted, [Symbol.dispose]() {} }

  const clear = () => to.write('\r\x1b[K')
  return {
    show(part, text) {
      const drawn = part === undefined ? '' : `${bar(part, to)} `
      // A terminal that does not know its width says 0.
      const room = (to.columns || 80) - 1 - (part === undefined ? 0 : WIDTH + 3)
      clear()
      to.write(drawn + escapeForTerminal(text).slice(0, Math.max(0, room)))
    },
    say(text) {
      clear()
      say(text)
    },
    sayPainted(text) {
      clear()
      sayPainted(text)
    },
    [Symbol.dispose]: clear,
  }
}

const WIDTH = 30

function bar(part: number, to: NodeJS.WriteStream): string {
  const filled = Math.round(Math.min(Math.max(part, 0), 1) * WIDTH)
  return `[${paint('green', '#'.repeat(filled), to)}${'.'.repeat(WIDTH - filled)}]`
}
