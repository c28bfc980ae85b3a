import { styleText } from 'node:util'
import { escapeForTerminal, escapeLinesForTerminal } from '../lib/terminal-text.ts'

type Style = Parameters<typeof styleText>[0]

/** Colours the text if the stream is a terminal with colours and NO_COLOR is not set. */
export const paint = (
  style: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string => styleText(style, text, { stream })

const STATE_STYLES: Record<string, Style> = {
  exported: 'green',
  partial: 'yellow',
  failed: 'red',
  cancelled: 'gray',
  skipped: 'yellow',
  exporting: 'cyan',
}

export const paintState = (state: string, stream?: NodeJS.WriteStream): string =>
  Object.hasOwn(STATE_STYLES, state)
    ? paint(STATE_STYLES[state]!, state, stream)
    : escapeForTerminal(state)

/** The last line of a terminal, which shows the progress. Disposing clears it. */
interface ProgressLine extends Disposable {
  /** Draws a bar for `fraction`, from 0 to 1, and the text. Does nothing unless the stream is a terminal. */
  update(fraction: number | undefined, text: string): void
  /** Prints a line above the progress. */
  print(text: string): void
  /** Prints a line that is already escaped and may contain colours. */
  printPainted(text: string): void
}

export function progressLine(to: NodeJS.WriteStream): ProgressLine {
  const printPainted = (text: string) => to.write(`${text}\n`)
  const print = (text: string) => printPainted(escapeLinesForTerminal(text))
  if (!to.isTTY) return { update() {}, print, printPainted, [Symbol.dispose]() {} }

  const clear = () => to.write('\r\x1b[K')
  return {
    update(fraction, text) {
      const drawn = fraction === undefined ? '' : `${bar(fraction, to)} `
      // `columns` is 0 if the width is unknown.
      const width = (to.columns || 80) - 1 - (fraction === undefined ? 0 : BAR_WIDTH + 3)
      clear()
      to.write(drawn + escapeForTerminal(text).slice(0, Math.max(0, width)))
    },
    print(text) {
      clear()
      print(text)
    },
    printPainted(text) {
      clear()
      printPainted(text)
    },
    [Symbol.dispose]: clear,
  }
}

const BAR_WIDTH = 30

function bar(fraction: number, to: NodeJS.WriteStream): string {
  const filled = Math.round(Math.min(Math.max(fraction, 0), 1) * BAR_WIDTH)
  return `[${paint('green', '#'.repeat(filled), to)}${'.'.repeat(BAR_WIDTH - filled)}]`
}
