import { createProgram } from './commands/program.ts'
import { reportFailure } from './commands/report-failure.ts'

try {
  const program = await createProgram(process.argv.slice(2))
  await program.parseAsync()
} catch (error) {
  process.exitCode = reportFailure(error)
}
