import { createProgram } from './commands/program.ts'
import { runCommand } from './commands/report-failure.ts'

await runCommand(async () => {
  const program = await createProgram(process.argv.slice(2))
  await program.parseAsync()
})
