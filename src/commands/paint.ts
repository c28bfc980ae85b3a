import { styleText } from 'node:util'
import { escapeForTerminal } from '../lib/terminal-text.ts'

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
