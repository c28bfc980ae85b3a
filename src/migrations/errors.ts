/** What may be wrong with one field of a request, in the words the wire uses. */
type FaultCode =
  | 'missing'
  | 'missing_field'
  | 'invalid'
  | 'already_exists'
  | 'unprocessable'
  | 'custom'

export interface Fault {
  /** What it is a fault of, where that is not what the request is about. */
  resource?: 'Migration' | 'Repository' | 'Service' | 'Schedule' | 'Hook'
  field?: string
  code: FaultCode
  /** Which element of a list. */
  index?: number
  /** The element itself, where the request has sent no list. */
  value?: string
  message?: string
}

/** The request was understood and cannot be done; nothing was changed. */
export class InvalidRequest extends Error {
  override name = 'Invalid'
  readonly faults: Fault[]

  constructor(faults: Fault[]) {
    super('the request is invalid')
    this.faults = faults
  }
}

/** There is none, or it is not the caller's to know of: the two are never told apart. */
export class NotFound extends Error {
  override name = 'NotFound'
}

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
