import { readConfig } from '../../packages/cli/src/settings/config.ts'
import { copyService } from '../../packages/server/src/service/copy-service.ts'

/**
 * Copies a service for tests, and kills itself at a step of the progress, or after some milliseconds if that is earlier. It begins
 * when its parent sends what to copy.
 */
export interface CopyOrder {
  from: Record<string, string>
  to: Record<string, string>
  atStep: number
  afterMs: number
}

const die = () => process.kill(process.pid, 'SIGKILL')

process.once('message', async ({ from, to, atStep, afterMs }: CopyOrder) => {
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
      if (steps === atStep) die()
    },
  })
  setTimeout(die, afterMs)
  await copying
})
