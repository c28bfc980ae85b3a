/** Caches the results of a function, except undefined. When there are `max` results, all are evicted: that is simplest. */
export function memoize<Input, Result>(
  max: number,
  compute: (input: Input) => Result,
  keyOf: (input: Input) => unknown = (input) => input,
): (input: Input) => Result {
  const cache = new Map<unknown, Result>()
  return (input) => {
    const key = keyOf(input)
    let result = cache.get(key)
    if (result === undefined) {
      result = compute(input)
      if (cache.size >= max) cache.clear()
      cache.set(key, result)
    }
    return result
  }
}
