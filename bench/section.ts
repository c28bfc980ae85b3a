/** One section of the results: what was measured, how, and which targets were met. */
export interface Section {
  title: string
  /** How it was measured, one list item each. */
  notes: string[]
  tables: Table[]
  targets: Target[]
  plots: Plot[]
}

export interface Table {
  /** The first column is text, the others are numbers. */
  head: string[]
  rows: string[][]
}

export interface Target {
  what: string
  measured: string
  aim: string
  isMet: boolean
}

export interface Plot {
  /** A file name in `bench/plots/`. */
  file: string
  alt: string
  svg: string
}

export function atLeast(what: string, measured: number, aim: number, unit = '×'): Target {
  return { what, ...shown(measured, aim, unit, '≥'), isMet: measured >= aim }
}

export function atMost(what: string, measured: number, aim: number, unit = '×'): Target {
  return { what, ...shown(measured, aim, unit, '≤'), isMet: measured <= aim }
}

function shown(measured: number, aim: number, unit: string, sign: string) {
  return { measured: `${round(measured)} ${unit}`, aim: `${sign} ${aim} ${unit}` }
}

/** Formats a number with three significant digits. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return '–'
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

export function sectionText({ title, notes, tables, targets, plots }: Section): string {
  const parts = [
    `## ${title}`,
    notes.map((note) => `- ${note}`).join('\n'),
    ...tables.map(tableText),
    ...plots.map(({ file, alt }) => `![${alt}](plots/${file})`),
    targets.length > 0 ? tableText(targetTable(targets)) : '',
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function targetTable(targets: readonly Target[]): Table {
  return {
    head: ['target', 'measured', 'aim', ''],
    rows: targets.map(({ what, measured, aim, isMet }) => [
      what,
      measured,
      aim,
      isMet ? 'met' : '**missed**',
    ]),
  }
}

function tableText({ head, rows }: Table): string {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((row) => row[at]!.length)))
  const line = (row: readonly string[]) => {
    const cells = row.map((cell, at) =>
      at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!),
    )
    return `| ${cells.join(' | ')} |`
  }
  const rule = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}
