import type { Addresses } from '../repositories/addresses.ts'

/** Everything that rendering needs beside facts. */
export interface Rendering {
  addresses: Addresses
  migrationTime: (at: number) => string
  /** Another one whenever the same facts would be rendered otherwise: part of every validator. */
  edition: string
}
