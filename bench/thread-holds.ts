import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const EVERY_MS = 5
const TOLD_FROM_MS = 10

/**
 * Loaded into `godwit serve` before all else (`--import`). Appends a line to a file whenever the main thread used much CPU time
 * without a turn of the event loop: when it ended (epoch milliseconds), and how much. A busy machine does not change that.
 */
const file = process.env.BENCH_THREAD_HOLDS
if (file !== undefined && isMainThread && process.argv.includes('serve')) {
  let last = threadCpuMs()
  setInterval(() => {
    const now = threadCpuMs()
    if (now - last >= TOLD_FROM_MS) appendFileSync(file, `${Date.now()} ${now - last}\n`)
    last = threadCpuMs()
  }, EVERY_MS).unref()
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
