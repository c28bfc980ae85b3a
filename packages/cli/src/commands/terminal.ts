import { styleText } from 'node:util'
import { escapeForTerminal, escapeLinesForTerminal } from '@godwit/lib/terminal-text'

type Style = Parameters<typeof styleText>[0]

/** Colours the text if the stream is a terminal with colours and NO_COLOR is not set. */
export const paint = (style: Style, text: string, stream: NodeJS.WriteStream = process.stdout) =>
  styleText(style, text, { stream })

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

/** The last line of standard error on a terminal, which shows the progress. Disposing clears it. */
interface ProgressLine extends Disposable {
  /**
   * Draws a bar for `fraction`, from 0 to 1, and the first of the texts that fits into the line. If none fits, the last is cut off.
   * Does nothing unless standard error is a terminal.
   */
  update(fraction: number | undefined, ...texts: readonly string[]): void
  /** Prints a line above the progress. */
  print(text: string): void
  /** Prints a line that is already escaped and may contain colours. */
  printPainted(text: string): void
}

export function progressLine(): ProgressLine {
  const to = process.stderr
  const printPainted = (text: string) => to.write(`${text}\n`)
  const print = (text: string) => printPainted(escapeLinesForTerminal(text))
  if (!to.isTTY) return { update() {}, print, printPainted, [Symbol.dispose]() {} }

  const clear = () => to.write('\r\x1b[K')
  return {
    update(fraction, ...texts) {
      // `columns` is 0 if the width is unknown. The last column stays empty, because some terminals wrap after it.
      const columns = (to.columns || 80) - 1
      const barWidth = columns < 60 ? 10 : 20
      const drawn = fraction === undefined ? '' : `${bar(fraction, barWidth)} `
      const width = Math.max(columns - (drawn === '' ? 0 : barWidth + 3), 0)
      const escaped = texts.map(escapeForTerminal)
      clear()
      to.write(
        drawn +
          (escaped.find(({ length }) => length <= width) ?? escaped.at(-1)?.slice(0, width) ?? ''),
      )
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

function bar(fraction: number, width: number): string {
  const filled = Math.round(Math.min(Math.max(fraction, 0), 1) * width)
  return `[${paint('green', '#'.repeat(filled), process.stderr)}${'.'.repeat(width - filled)}]`
}
