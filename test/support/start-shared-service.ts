import type { TestContext } from 'node:test'
import { prepareService, type ServiceOptions, type SharedService, untilReady } from './service.ts'
import { sharedProcessService } from './shared-services.ts'
import { showLogOnFailure } from './show-on-failure.ts'

/**
 * Starts a service like `godwit serve`, but in a process that it shares with the other services of this test
 * process that have the same environment, because loading the code takes longer than most tests. Tests that kill
 * the service use `startService`.
 */
export async function startSharedService(
  t: Pick<TestContext, 'after'>,
  { env, ...options }: ServiceOptions,
): Promise<SharedService> {
  // Each exporter thread has to load code as well.
  const flags = ['--concurrency', '1', ...(options.flags ?? [])]
  const { args, remove, ...prepared } = await prepareService({ ...options, flags })
  const { log, start, stop } = sharedProcessService(args, env)
  const restart = async () => {
    await start()
    await untilReady(prepared.url, log)
  }
  const hideLog = showLogOnFailure(`the service at ${prepared.url}`, log)
  t.after(async () => {
    await stop()
    hideLog()
    await remove()
  })
  await restart()
  return { ...prepared, log, stop, restart }
}
