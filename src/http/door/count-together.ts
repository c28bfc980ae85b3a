import type { Count } from './counters.ts'

type Add = (key: string, by: number) => Promise<Count>

interface Waiting {
  by: number
  resolve(count: Count): void
  reject(error: unknown): void
}

/**
 * Exact, and yet a single write for all that come while the last is on its way: each is told the count that it would have
 * found alone. A count that all processes share is a row that they wait for each other at.
 */
export function countTogether(add: Add): Add {
  const lines = new Map<string, Waiting[]>()

  async function write(key: string, line: Waiting[]): Promise<void> {
    while (line.length > 0) {
      const all = line.splice(0)
      const sum = all.reduce((total, { by }) => total + by, 0)
      try {
        const { times, endsAt } = await add(key, sum)
        let count = times - sum
        for (const { by, resolve } of all) {
          count += by
          resolve({ times: Math.max(0, count), endsAt })
        }
      } catch (error) {
        for (const { reject } of all) reject(error)
      }
    }
    lines.delete(key)
  }

  return (key, by) =>
    new Promise((resolve, reject) => {
      const waiting = { by, resolve, reject }
      const line = lines.get(key)
      if (line) {
        line.push(waiting)
        return
      }
      const fresh = [waiting]
      lines.set(key, fresh)
      void write(key, fresh)
    })
}
