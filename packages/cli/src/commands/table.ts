/** Rows of cells. The first row holds the titles. */
export type Table = readonly (readonly string[])[]

export type Cell = string | number | null | undefined

/** Returns a table with a column for each title. `columns` has the functions that return the cells; an absent value is shown as `-`. */
export const tableOf = <T>(
  items: readonly T[],
  columns: Record<string, (item: T) => Cell>,
): Table => [
  Object.keys(columns),
  ...items.map((item) => Object.values(columns).map((cellOf) => String(cellOf(item) ?? '-'))),
]

const GAP = '  '

/**
 * Formats a table as lines of at most `width` characters. Cells that are too long are wrapped at words. If the columns do not fit even
 * then, each row becomes a record with one line for each cell. Words are never split or cut off, so a single long word may exceed
 * the width. `paint` colours a padded cell.
 */
export function formatTable(
  rows: Table,
  width: number,
  paint: (cell: string, at: { row: number; column: number }) => string,
): string[] {
  const widths = fitColumns(rows, width)
  if (!widths) return formatRecords(rows, width, paint)
  return rows.flatMap((cells, row) => {
    const wrapped = cells.map((cell, column) => wrapWords(cell, widths[column]!))
    const height = Math.max(...wrapped.map((lines) => lines.length))
    return Array.from({ length: height }, (_, line) => {
      const last = wrapped.findLastIndex((lines) => lines[line])
      const shown = wrapped.slice(0, last + 1).map((lines, column) => {
        const text = lines[line] ?? ''
        return paint(column === last ? text : text.padEnd(widths[column]!), { row, column })
      })
      return shown.join(GAP)
    })
  })
}

/** Returns the width of each column, or undefined if the table is too wide even with one word per line. */
function fitColumns(rows: Table, width: number): number[] | undefined {
  const widths = columnWidths(rows, (cell) => cell.length)
  const total = (all: number[]) => all.reduce((sum, each) => sum + each + GAP.length, -GAP.length)
  if (total(widths) <= width) return widths
  const least = columnWidths(rows, (cell) =>
    cell.split(' ').reduce((widest, word) => Math.max(widest, word.length), 0),
  )
  if (total(least) > width) return undefined
  // The widest column that can shrink gives way first.
  for (let excess = total(widths) - width; excess > 0; excess--) {
    const [column] = [...widths.keys()]
      .filter((each) => widths[each]! > least[each]!)
      .sort((a, b) => widths[b]! - widths[a]!)
    widths[column!]! -= 1
  }
  return widths
}

const columnWidths = (rows: Table, measure: (cell: string) => number): number[] =>
  rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, measure(cell))),
    [],
  )

function formatRecords(
  [titles = [], ...rows]: Table,
  width: number,
  paint: Parameters<typeof formatTable>[2],
): string[] {
  const titleWidth = Math.max(...titles.map((title) => title.length))
  const indent = ' '.repeat(titleWidth) + GAP
  const records = rows.map((cells, row) =>
    cells.flatMap((cell, column) => {
      const [first = '', ...more] = wrapWords(cell, width - indent.length)
      const title = paint(titles[column]!.padEnd(titleWidth), { row: 0, column })
      const value = paint(first, { row: row + 1, column })
      return [title + GAP + value, ...more.map((line) => indent + line)]
    }),
  )
  return records.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
}

/** Splits a text into lines at its spaces. A word that is longer than the width gets a line of its own. */
function wrapWords(text: string, width: number): string[] {
  const lines: string[] = []
  let line: string | undefined
  for (const word of text.split(' ')) {
    if (line === undefined) line = word
    else if (line.length + 1 + word.length <= width) line += ` ${word}`
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line ?? '']
}

/** Wraps each line of `name  value` at words, with the value's further lines below its first. */
export function wrapDetails(text: string, width: number): string {
  const wrap = (line: string): string[] => {
    if (line.length <= width) return [line]
    const [start = ''] = /^ *(?:\S+ )*?\S+ {2,}|^ */.exec(line) ?? []
    const indent = ' '.repeat(start.length)
    return wrapWords(line.slice(start.length), width - start.length).map(
      (each, index) => (index === 0 ? start : indent) + each,
    )
  }
  return text.split('\n').flatMap(wrap).join('\n')
}
