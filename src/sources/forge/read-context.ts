import { segment } from './forge-address.ts'
import type { KnownForge } from './known-forge.ts'
import type { Notes } from './notes.ts'
import type { People } from './people-facts.ts'

/** What every part of a reading needs to know. */
export interface ReadContext {
  forge: KnownForge
  owner: string
  name: string
  notes: Notes
  people: People
  signal: AbortSignal
}

export const repositoryPath = ({ owner, name }: { owner: string; name: string }): string =>
  `/repos/${segment(owner)}/${segment(name)}`
