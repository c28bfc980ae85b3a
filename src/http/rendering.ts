import type { Addresses } from '../repositories/addresses.ts'

/** What renderers need in addition to the facts. */
export interface Rendering {
  addresses: Addresses
  migrationTime: (at: number) => string
  /** Changes whenever the same facts would be rendered differently. Part of every ETag. */
  edition: string
}
