import type { Command } from 'commander'
import { addCommand, configOf, print, UserMistake } from './command-line.ts'
import { openLog } from './log.ts'
import { requireRepositories } from './parts.ts'
import { untilStopSignal } from './stop-signal.ts'

export function workCommand(program: Command): void {
  addCommand(program, 'work', 'exports for API processes that run elsewhere').action(
    async (_options, command: Command) => {
      const config = configOf(command)
      requireRepositories(config)
      if (config.databaseUrl === undefined) {
        throw new UserMistake(
          'a worker shares its database with API processes: give --database-url',
        )
      }
      const logging = openLog(config.logLevel)
      const stopped = untilStopSignal()
      await using stack = new AsyncDisposableStack()
      const { layFoundation } = await import('./foundation.ts')
      const { startExporter } = await import('./run-exporter.ts')
      stack.defer(await startExporter(config, await layFoundation(config, logging, stack)))
      print('Godwit is working')
      await stopped
      await stack.disposeAsync()
      logging.close()
    },
  )
}
