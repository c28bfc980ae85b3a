import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { addCommand, configOf, print } from './command-line.ts'
import { type Log, openLog } from './log.ts'
import type { Service } from './service.ts'
import { untilStopSignal } from './stop-signal.ts'

export function serveCommand(program: Command): void {
  addCommand(program, 'serve', 'runs the service').action(async (_options, command: Command) => {
    const config = configOf(command)
    const logging = openLog(config.logLevel)
    const stopped = untilStopSignal()
    const service = await start(config, logging)
    print(`Godwit is listening at ${service.address}`)
    if (service.notice) print(service.notice)
    await stopped
    await service.stop()
    logging.close()
  })
}

/** Loaded only when needed: no other command waits for the web framework. */
async function start(config: Config, logging: Log): Promise<Service> {
  if (config.repositories !== undefined || config.databaseUrl !== undefined) {
    return (await import('./service.ts')).startService(config, logging)
  }
  return (await import('./sample.ts')).startSample(config, logging)
}
