import type { Config } from '../settings/config.ts'
import { retryWhileDatabaseIsDown } from './database-errors.ts'
import { startHeartbeat } from './heartbeat.ts'
import type { Log } from './log.ts'
import { openProcessParts, releaseMemoryOnce } from './process-parts.ts'
import { startExporter } from './start-exporter.ts'

/** Starts an exporter that shares its database with API processes. Disposing of the returned stack stops it. */
export function startWorker(config: Config, logging: Log): Promise<AsyncDisposableStack> {
  return retryWhileDatabaseIsDown(config, logging.log, async () => {
    await using stack = new AsyncDisposableStack()
    const parts = await openProcessParts(config, logging, stack)
    const { scratch, stop } = await startExporter(config, parts)
    stack.defer(stop)
    startHeartbeat(parts, { role: 'worker', concurrency: config.concurrency, scratch }, stack)
    releaseMemoryOnce(parts, stack)
    return stack.move()
  })
}
