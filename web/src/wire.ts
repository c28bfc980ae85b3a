import type {
  ExtendedRepository,
  Progress,
  ServiceState,
  StartRequest,
} from '../../src/wire/types.ts'

/** The types of API requests and responses, from the contract, and names for parts of them. */
export type * from '../../src/wire/types.ts'

export type Repository = ExtendedRepository
export type MigrationState = Progress['state']
export type StartOptions = Required<Omit<StartRequest, 'repositories' | 'exclude'>>
export type Period = ServiceState['throughput']['period']
export type Bucket = ServiceState['throughput']['buckets'][number]

export const isUnfinished = (state: MigrationState): boolean =>
  state === 'pending' || state === 'exporting'
