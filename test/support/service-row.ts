import type { TestContext } from 'node:test'
import { rowService } from './row-of-services.ts'
import { prepareService, type ServiceOptions, type SharedService, untilReady } from './service.ts'

/**
 * A service as `godwit serve` runs it, but in one process with the others of the tests that run in this one: to load the code
 * takes longer than most of them; with the same environment, where it has one of its own. For whoever does not kill it.
 */
export async function startInRow(
  t: Pick<TestContext, 'after'> & Partial<Pick<TestContext, 'error'>>,
  { env, ...options }: ServiceOptions,
): Promise<SharedService> {
  // Each thread of an exporter has its own code to load, too.
  const flags = ['--concurrency', '1', ...(options.flags ?? [])]
  const { args, remove, ...about } = await prepareService({ ...options, flags })
  const { log, start, stop } = rowService(args, env)
  const restart = async () => {
    await start()
    await untilReady(about.url, log)
  }
  t.after(async () => {
    await stop()
    // It may be the service's doing.
    if (t.error) console.log(warningsIn(log()))
    await remove()
  })
  await restart()
  return { ...about, log, stop, restart }
}

const warningsIn = (log: string): string =>
  log
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line))
    .join('\n')
