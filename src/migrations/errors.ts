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
