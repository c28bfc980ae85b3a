import type {
  ExtendedRepository,
  Progress,
  ServiceState,
  StartRequest,
} from '@godwit/contract/schemas/types'

/** The types of API requests and responses, from the contract, and names for parts of them. */
export type * from '@godwit/contract/schemas/types'

export type Repository = ExtendedRepository
export type MigrationState = Progress['state']
export type StartOptions = Required<Omit<StartRequest, 'repositories' | 'exclude' | 'name'>>
export type Period = ServiceState['throughput']['period']
export type Bucket = ServiceState['throughput']['buckets'][number]

/** The title of a migration or schedule: its name, if it has one. */
export const titleOf = (kind: string, { id, name }: { id: number; name: string | null }): string =>
  name === null ? `${kind[0]!.toUpperCase()}${kind.slice(1)} ${id}` : `${name} (${kind} ${id})`

export const isUnfinished = (state: MigrationState): boolean =>
  state === 'pending' || state === 'exporting'
