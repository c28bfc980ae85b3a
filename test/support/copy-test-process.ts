import { copyService } from '../../src/service/copy-service.ts'
import { readConfig } from '../../src/settings/config.ts'

/**
 * Copies a service for tests, and kills itself at a step of the progress, or after some milliseconds if that is earlier. It begins
 * when its parent sends what to copy.
 */
interface Order {
  from: Record<string, string>
  to: Record<string, string>
  killAtStep: number
  killAfterMs: number
}

const die = () => process.kill(process.pid, 'SIGKILL')

process.once('message', async ({ from, to, killAtStep, killAfterMs }: Order) => {
  let steps = 0
  const config = readConfig(to, {})
  const copying = copyService({
    from: readConfig(from, {}),
    database: config,
    blobs: config,
    isOnline: false,
    keepSource: false,
    isFull: true,
    signal: new AbortController().signal,
    onProgress() {
      steps += 1
      if (steps === killAtStep) die()
    },
  })
  setTimeout(die, killAfterMs)
  await copying
})
