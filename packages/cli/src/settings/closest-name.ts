/** Returns `; did you mean NAME?` for the name with the smallest edit distance, or an empty text if no name is similar. */
export function didYouMean(written: string, names: Iterable<string>): string {
  let best: string | undefined
  let fewest = Math.max(2, Math.floor(written.length / 3)) + 1
  for (const name of names) {
    const changes = editDistance(written, name)
    if (changes < fewest) [best, fewest] = [name, changes]
  }
  return best === undefined ? '' : `; did you mean ${best}?`
}

/** Counts letters to add, remove or replace; two swapped neighbours count once. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1))
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap && beforeLast[j - 2] !== undefined)
        row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
