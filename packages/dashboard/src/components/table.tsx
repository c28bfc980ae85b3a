import type { ReactNode } from 'react'
import { Box } from './box.tsx'
import styles from './service-tables.module.css'

interface TableProps {
  title: string
  columns: string[]
  rows: { key: string | number; cells: ReactNode[] }[]
  /** The text for an empty table. */
  emptyText: string
  note?: ReactNode
}

/**
 * A framed table. On a narrow screen each row is a card with the column's name before each value. The roles are explicit,
 * because screen readers do not treat a table with another CSS display as a table.
 */
export function Table({ title, columns, rows, emptyText, note }: TableProps) {
  return (
    <Box title={title} aside={note && <span className={styles.quiet}>{note}</span>}>
      {rows.length === 0 ? (
        <p className={styles.none}>{emptyText}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        <section className={styles.scroll} aria-label={`${title}: the table`} tabIndex={0}>
          {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
          <table className={styles.table} role="table">
            {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
            <thead role="rowgroup">
              {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
              <tr role="row">
                {columns.map((column) => (
                  // biome-ignore lint/a11y/noRedundantRoles: see above
                  <th key={column} scope="col" role="columnheader">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
            <tbody role="rowgroup">
              {rows.map(({ key, cells }) => (
                // biome-ignore lint/a11y/noRedundantRoles: see above
                <tr key={key} role="row">
                  {cells.map((cell, index) => {
                    const column = columns[index]
                    return (
                      // biome-ignore lint/a11y/noRedundantRoles: see above
                      <td key={column} role="cell" data-column={column} data-empty={cell === '—'}>
                        {cell}
                      </td>
                    )
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Box>
  )
}
