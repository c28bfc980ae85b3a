import type { Operation } from './operation.ts'

/** A route of the server, with what its schema and its config say of it. */
export interface DescribedRoute {
  method: string
  /** With parameters in braces. */
  path: string
  operation: Operation
  previewed: boolean
  uncounted: boolean
}
