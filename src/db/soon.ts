/** There already, or on its way. */
export type Soon<T> = T | Promise<T>

/** Goes on at once with what is there: for what every request does, waiting in turn would cost more than the work itself. */
export function soon<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** All of them, asked at the same time. */
export function allSoon<A, B, C>(values: [Soon<A>, Soon<B>, Soon<C>]): Soon<[A, B, C]> {
  const isThere = !values.some((value) => value instanceof Promise)
  return isThere ? (values as [A, B, C]) : Promise.all(values)
}
