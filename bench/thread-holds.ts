import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const INTERVAL_MS = 5
const MIN_REPORTED_MS = 10

/**
 * Loaded into `godwit serve` with `--import`. Whenever one iteration of the event loop used much CPU time, it
 * appends a line to a file: when the iteration ended (epoch milliseconds) and how much CPU time it used. CPU
 * time hardly depends on the load of the machine.
 */
const file = process.env.BENCH_THREAD_HOLDS
if (file !== undefined && isMainThread && process.argv.includes('serve')) {
  let last = threadCpuMs()
  setInterval(() => {
    const now = threadCpuMs()
    if (now - last >= MIN_REPORTED_MS) appendFileSync(file, `${Date.now()} ${now - last}\n`)
    last = threadCpuMs()
  }, INTERVAL_MS).unref()
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
