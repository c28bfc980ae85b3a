import { createProgram } from '../../packages/cli/src/commands/program.ts'
import { runCommand } from '../../packages/cli/src/commands/report-failure.ts'

/** Started by terminal.ts with a list of commands: runs one after the other like main.ts, and prints a line with its exit code after each. */
for (const each of [process, process.stdout, process.stderr]) each.setMaxListeners(0)

for (const args of JSON.parse(process.argv[2]!) as string[][]) {
  process.argv = [process.argv[0]!, 'godwit', ...args]
  process.exitCode = 0
  await runCommand(async () => {
    const program = await createProgram(args)
    await program.parseAsync()
  })
  process.stdout.write(`\0${process.exitCode}\n`)
  process.exitCode = 0
}
