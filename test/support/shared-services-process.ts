import { openSync } from 'node:fs'
import { Command } from 'commander'
import { addCommand, readServiceConfig } from '../../packages/cli/src/commands/command-line.ts'
import { DASHBOARD } from '../../packages/cli/src/commands/serve.ts'
import { SERVE, type ServiceConfig } from '../../packages/cli/src/commands/service-settings.ts'
import { openLog } from '../../packages/server/src/service/log.ts'
import { startService } from '../../packages/server/src/service/service.ts'
import type { ServiceOrder, ServiceReply } from './shared-services.ts'

/** Started by shared-services.ts: runs several services like serve.ts, each with its own log. */
process.setMaxListeners(0)

const stops = new Map<number, () => Promise<void>>()

process.on('message', async (command: ServiceOrder) => {
  const reply: ServiceReply = { id: command.id }
  try {
    if ('args' in command) await start(command)
    else await stops.get(command.id)?.()
  } catch (error) {
    reply.error = String((error as Error).stack ?? error)
  }
  process.send!(reply)
})
// The test process has ended.
process.on('disconnect', () => process.exit())

async function start({
  id,
  args,
  logFile,
  env,
}: Extract<ServiceOrder, { args: unknown }>): Promise<void> {
  Object.assign(process.env, env)
  const file = openSync(logFile, 'a')
  const config = await configFrom(args)
  const logging = openLog(config, file)
  const service = await startService(config, { logging, dashboard: DASHBOARD })
  stops.set(id, async () => {
    stops.delete(id)
    await service.stop()
    await logging.close()
  })
}

async function configFrom(args: readonly string[]): Promise<ServiceConfig> {
  const read = Promise.withResolvers<ServiceConfig>()
  const program = new Command()
  addCommand(program, 'serve', '', [], SERVE).action((_, command: Command) =>
    read.resolve(readServiceConfig(command, SERVE)),
  )
  await program.parseAsync(args, { from: 'user' })
  return read.promise
}
