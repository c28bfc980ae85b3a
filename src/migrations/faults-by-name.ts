import { type Fault, InvalidRequest } from './errors.ts'

/** Of a repository that was covered once. */
export const gone = (fullName: string): Fault => ({
  field: 'repositories',
  code: 'missing',
  value: fullName,
  message: `${fullName} no longer exists, or may no longer be migrated.`,
})

/** The same refusal for whoever has sent no list that an index could be of. */
export const faultByName = (
  { faults }: InvalidRequest,
  repositories: readonly string[],
): InvalidRequest =>
  new InvalidRequest(
    faults.map(({ index, ...fault }) =>
      fault.code === 'missing' && index !== undefined ? gone(repositories[index]!) : fault,
    ),
  )
