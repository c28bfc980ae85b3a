/** There already, or on its way. */
export type Soon<T> = T | Promise<T>

/** Goes on at once with what is there: for what every request does, waiting in turn would cost more than the work itself. */
export function soon<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
