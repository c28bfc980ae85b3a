/** Amounts by key, and their sum. A key without an amount takes no memory. */
export class Tally {
  readonly #amounts = new Map<string, number>()
  #total = 0

  of(key: string): number {
    return this.#amounts.get(key) ?? 0
  }

  total(): number {
    return this.#total
  }

  add(key: string, by: number): void {
    const amount = this.of(key) + by
    this.#total += by
    if (amount === 0) this.#amounts.delete(key)
    else this.#amounts.set(key, amount)
  }
}
