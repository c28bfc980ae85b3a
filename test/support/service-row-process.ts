import { openSync } from 'node:fs'
import { Command } from 'commander'
import { addCommand, configOf } from '../../src/commands/command-line.ts'
import { openLog } from '../../src/service/log.ts'
import { startService } from '../../src/service/service.ts'
import type { Config } from '../../src/settings/config.ts'
import type { Done, Order } from './row-of-services.ts'

/** Started by row-of-services.ts: runs services side by side as serve.ts runs one, each with a log of its own. */
process.setMaxListeners(0)

const stops = new Map<number, () => Promise<void>>()

process.on('message', async (order: Order) => {
  const done: Done = { id: order.id }
  try {
    if ('args' in order) await start(order)
    else await stops.get(order.id)?.()
  } catch (error) {
    done.error = String((error as Error).stack ?? error)
  }
  process.send!(done)
})
// Whoever asked for them has ended.
process.on('disconnect', () => process.exit())

async function start({ id, args, logFile }: Extract<Order, { args: unknown }>): Promise<void> {
  const file = openSync(logFile, 'a')
  const config = await configFrom(args)
  const logging = openLog(config, file)
  const service = await startService(config, logging)
  stops.set(id, async () => {
    stops.delete(id)
    await service.stop()
    await logging.close()
  })
}

async function configFrom(args: readonly string[]): Promise<Config> {
  const read = Promise.withResolvers<Config>()
  const program = new Command()
  addCommand(program, 'serve', '').action((_, command: Command) => read.resolve(configOf(command)))
  await program.parseAsync(args, { from: 'user' })
  return read.promise
}
