import { extname } from 'node:path'

/** What a segment thread runs: TypeScript in a checkout, and in the package what was compiled of it. */
export const SEGMENT_THREAD = new URL(
  `./segment-thread${extname(import.meta.filename)}`,
  import.meta.url,
)
