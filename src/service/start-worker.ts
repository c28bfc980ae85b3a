import { retryWhileDatabaseIsDown } from './database-errors.ts'
import { startHeartbeat } from './heartbeat.ts'
import type { Log } from './log.ts'
import { openProcessParts, type ProcessSettings, releaseMemoryOnce } from './process-parts.ts'
import { type ExporterSettings, startExporter } from './start-exporter.ts'

export interface WorkerSettings extends ProcessSettings, ExporterSettings {}

/** Starts an exporter that shares its database with API processes. Disposing of the returned stack stops it. */
export function startWorker(settings: WorkerSettings, logging: Log): Promise<AsyncDisposableStack> {
  return retryWhileDatabaseIsDown(settings, logging.log, async () => {
    await using stack = new AsyncDisposableStack()
    const parts = await openProcessParts(settings, logging, stack)
    const { scratch, stop } = await startExporter(settings, parts)
    stack.defer(stop)
    startHeartbeat(parts, { role: 'worker', concurrency: settings.concurrency, scratch }, stack)
    releaseMemoryOnce(parts, stack)
    return stack.move()
  })
}
