import { createProgram } from './commands/program.ts'
import { reportFailure } from './commands/report-failure.ts'

// Whoever reads may have seen enough (`| head`): the work goes on, and its end still counts.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  const program = await createProgram(process.argv.slice(2))
  await program.parseAsync()
} catch (error) {
  process.exitCode = reportFailure(error)
}
