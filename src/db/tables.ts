import type { Generated, Selectable } from 'kysely'
import type { initialTables } from '../../schema/0001-tables.ts'

type Value<Definition> = Definition extends `text${string}` ? string : number

/** The type of a column, from its SQL. A later step of the schema that adds a column adds its type to `Tables`. */
type Column<Definition> = Definition extends 'id'
  ? Generated<number>
  : Definition extends `${string} default ${string}`
    ? Generated<Value<Definition>>
    : Definition extends `${string} ${'not null' | 'primary key'}${string}`
      ? Value<Definition>
      : Value<Definition> | null

/** The tables that queries may use, which `schema/` describes. */
export type Tables = {
  [Table in keyof typeof initialTables]: {
    -readonly [Name in keyof (typeof initialTables)[Table]]: Column<
      (typeof initialTables)[Table][Name]
    >
  }
}

/** A row as it is read from a table. */
export type Row<Name extends keyof Tables> = Selectable<Tables[Name]>
