/**
 * Makes the same of the same only once. Where there are too many, all are forgotten: what is asked for again is made again, and
 * nothing has to be said of which is old.
 */
export function memoize<Of, Made>(
  max: number,
  make: (of: Of) => Made,
  keyOf: (of: Of) => unknown = (of) => of,
): (of: Of) => Made {
  const known = new Map<unknown, Made>()
  return (of) => {
    const key = keyOf(of)
    let made = known.get(key)
    if (made === undefined) {
      made = make(of)
      if (known.size >= max) known.clear()
      known.set(key, made)
    }
    return made
  }
}
