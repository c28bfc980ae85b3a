import type { Command } from 'commander'
import { addCommand, configOf, print } from './command-line.ts'
import { openLog } from './log.ts'
import { untilStopSignal } from './stop-signal.ts'

export function serveCommand(program: Command): void {
  addCommand(program, 'serve', 'runs the service').action(async (_options, command: Command) => {
    const config = configOf(command)
    const logging = openLog(config.logLevel)
    const stopped = untilStopSignal()
    // Loaded only here: no other command needs to wait for the web framework.
    const { startService } = await import('./service.ts')
    const service = await startService(config, logging)
    print(`Godwit is listening at ${service.address}`)
    await stopped
    await service.stop()
    logging.close()
  })
}
