import { createProgram } from './commands/program.ts'
import { reportFailure } from './commands/report-failure.ts'
import { hasCode } from './ground/errno.ts'

// Whoever reads may have seen enough (`| head`): the work goes on, and its end still counts.
process.stdout.on('error', (error) => {
  if (!hasCode(error, 'EPIPE')) throw error
})

try {
  const program = await createProgram(process.argv.slice(2))
  await program.parseAsync()
} catch (error) {
  process.exitCode = reportFailure(error)
}
