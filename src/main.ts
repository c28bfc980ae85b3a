import { createProgram } from './commands/program.ts'
import { runToTheEnd } from './commands/report-failure.ts'

await runToTheEnd(async () => {
  const program = await createProgram(process.argv.slice(2))
  await program.parseAsync()
})
