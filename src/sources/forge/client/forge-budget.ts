/** How many requests a forge is asked, by all who read it together. */
export interface ForgeBudget {
  /** Counts one request before it is sent; rejects with WaitUntil while the forge is not to be asked. */
  take(): Promise<void>
  /** The forge said to come back later: nobody asks it before. */
  holdUntil(time: number): Promise<void>
}

/** Where one process is alone with its forge, or nobody counts. */
export const NO_BUDGET: ForgeBudget = {
  take: async () => {},
  holdUntil: async () => {},
}
