/** An error about one field of a request, as in GitHub's API. */
export interface FieldError {
  /** Set if the error is not about the resource of the request. */
  resource?: 'Migration' | 'Repository' | 'Service' | 'Schedule' | 'Hook' | 'Token' | 'Audit'
  field?: string
  code: 'missing' | 'missing_field' | 'invalid' | 'already_exists' | 'unprocessable' | 'custom'
  /** The index of an element of a list. */
  index?: number
  /** The element, if the request had no list. */
  value?: string
  message?: string
}

/** The request is invalid or cannot be fulfilled; nothing was changed. */
export class InvalidRequest extends Error {
  override name = 'InvalidRequest'
  readonly errors: FieldError[]

  constructor(errors: FieldError[]) {
    super('the request is invalid')
    this.errors = errors
  }
}

/** The resource does not exist, or the caller may not see it. The response does not reveal which. */
export class NotFound extends Error {
  override name = 'NotFound'
}

/** Throws InvalidRequest with the index of each of the request's repositories that is wrong. */
export function refuseRepositories<T>(
  repositories: readonly T[],
  isWrong: (repository: T, index: number) => boolean,
  code: FieldError['code'],
): void {
  const errors = repositories.flatMap((each, index) =>
    isWrong(each, index) ? [{ field: 'repositories', code, index }] : [],
  )
  if (errors.length > 0) throw new InvalidRequest(errors)
}
