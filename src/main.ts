import { Command, CommanderError } from 'commander'
import { accountCommands } from './commands/account.ts'
import { addCommand, configOf, print, UserMistake } from './commands/command-line.ts'
import { doctorCommand } from './commands/doctor.ts'
import { exportCommand } from './commands/export.ts'
import { locksCommand } from './commands/locks.ts'
import { restoreCommand } from './commands/restore.ts'
import { serveCommand } from './commands/serve.ts'
import { syncCommand } from './commands/sync.ts'
import { tokenCommands } from './commands/token.ts'
import { verifyCommand } from './commands/verify.ts'
import { workCommand } from './commands/work.ts'
import { ConfigMistakes, describeConfig } from './config.ts'
import { DataDirectoryInUse } from './db/data-directory-lock.ts'
import { DatabaseDamaged } from './db/sqlite-damage.ts'
import { SchemaTooNew } from './db/upgrade.ts'

const program = new Command('godwit')
  .description("A migrations service for git hosts that speaks GitHub's User Migrations API")
  .exitOverride()

serveCommand(program)
workCommand(program)
syncCommand(program)
accountCommands(program)
tokenCommands(program)
locksCommand(program)
exportCommand(program)
verifyCommand(program)
restoreCommand(program)
doctorCommand(program)
addCommand(program, 'config', 'prints the settings in force').action((_options, command: Command) =>
  print(describeConfig(configOf(command))),
)

const FAILED = 1
const MISUSED = 2

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Says what went wrong, in as few words as the person needs, and how that counts. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED
  if (error instanceof ConfigMistakes) {
    for (const mistake of error.mistakes) process.stderr.write(`godwit: ${mistake}\n`)
    return MISUSED
  }
  const isPlain = [UserMistake, DataDirectoryInUse, DatabaseDamaged, SchemaTooNew].some(
    (kind) => error instanceof kind,
  )
  process.stderr.write(`godwit: ${isPlain ? (error as Error).message : (error as Error).stack}\n`)
  return FAILED
}
