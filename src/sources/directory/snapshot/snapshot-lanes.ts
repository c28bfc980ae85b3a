/** Enough to keep the thread pool busy, few enough for any limit on open files. */
const LANES = 32

/** Works through many items, some at a time. The first failure stops the rest, and nothing is left running. */
export async function inLanes<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items].values()
  let stopped = false
  async function lane(): Promise<void> {
    for (const item of queue) {
      if (stopped) return
      try {
        await work(item)
      } catch (error) {
        stopped = true
        throw error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: LANES }, lane))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
