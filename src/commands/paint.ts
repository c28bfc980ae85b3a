import { styleText } from 'node:util'
import { escapeForTerminal } from '../lib/terminal-text.ts'

type Style = Parameters<typeof styleText>[0]

/** Colours only where someone looks at a terminal that has them, and not under NO_COLOR. */
export const paint = (
  style: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string => styleText(style, text, { stream })

const OF_STATE: Record<string, Style> = {
  exported: 'green',
  partial: 'yellow',
  failed: 'red',
  cancelled: 'gray',
  skipped: 'yellow',
  exporting: 'cyan',
}

export const paintState = (state: string, stream?: NodeJS.WriteStream): string =>
  Object.hasOwn(OF_STATE, state) ? paint(OF_STATE[state]!, state, stream) : escapeForTerminal(state)
