import { UserError } from '@godwit/lib/user-error'

/** Returns one line of CSV (RFC 4180). Puts an apostrophe before text that a spreadsheet would interpret as a formula. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(',')}\n`
}

function csvCell(value: string | number): string {
  const text = typeof value === 'string' && /^[=+@\t\r-]/.test(value) ? `'${value}` : String(value)
  // Some spreadsheets separate cells by semicolons.
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

interface CsvRow {
  /** The number of its first line, from 1. */
  line: number
  cells: string[]
}

const CELL = {
  ',': /[ \t]*(?:"([^"]*(?:""[^"]*)*)"[ \t]*|([^",\r\n]*))(,|\r?\n|$)/y,
  ';': /[ \t]*(?:"([^"]*(?:""[^"]*)*)"[ \t]*|([^";\r\n]*))(;|\r?\n|$)/y,
}
const COMMENT_OR_EMPTY = /(?:#[^\n]*|[ \t\r]*)(?:\n|$)/y

/**
 * Yields the rows of a CSV file (RFC 4180), without empty lines and those that begin with `#`. A cell in quotes may have several lines.
 * Leaves out the apostrophe that `csvLine` writes. Cells are separated by semicolons if `hasSemicolons`, as some spreadsheets write them.
 * Throws UserError with the line whose quotes do not match.
 */
export function* parseCsv(csv: string, { hasSemicolons = false } = {}): Generator<CsvRow> {
  const pattern = CELL[hasSemicolons ? ';' : ',']
  const text = csv.replace(/^\ufeff/, '')
  let [at, line] = [0, 1]
  const match = (expression: RegExp) => {
    expression.lastIndex = at
    return expression.exec(text)
  }
  while (at < text.length) {
    const ignored = match(COMMENT_OR_EMPTY)
    if (ignored) {
      at += ignored[0].length
      line += 1
      continue
    }
    const row: CsvRow = { line, cells: [] }
    for (let end = ''; !end.endsWith('\n'); ) {
      const cell = match(pattern)
      if (!cell)
        throw new UserError(
          `line ${row.line}: its quotes do not match; nothing of the file is used`,
        )
      const [all, quoted, plain = '', separator = ''] = cell
      const value = quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"')
      row.cells.push(value.replace(/^'(?=[=+@\t\r-])/, ''))
      at += all.length
      line += all.split('\n').length - 1
      end = separator === '' ? '\n' : separator
    }
    yield row
  }
}
