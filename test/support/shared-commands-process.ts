import { createProgram } from '../../packages/cli/src/commands/program.ts'
import { runCommand } from '../../packages/cli/src/commands/report-failure.ts'
import type { Command, CommandResult, Output } from './shared-commands.ts'

/** Started by shared-commands.ts: runs one command after the other like main.ts, and captures the output of each. */
for (const each of [process, process.stdout, process.stderr]) each.setMaxListeners(0)

const INITIAL_DIRECTORY = process.cwd()
const USER = process.getuid?.()
const isCaptured = (process.argv[2] as Output) === 'captured'

process.on('message', async ({ args, cwd, env }: Command) => {
  const errorOutput = capture('stderr')
  const output = isCaptured ? capture('stdout') : []
  setEnvironment(env)
  process.chdir(cwd)
  process.argv = [process.argv[0]!, 'godwit', ...args]
  process.exitCode = 0
  await runCommand(async () => {
    const program = await createProgram(args)
    await program.parseAsync()
  })
  // Some commands switch to the user that owns the data, and cannot switch back.
  const hasSwitchedUser = process.getuid?.() !== USER
  const result: CommandResult & { hasSwitchedUser: boolean } = {
    hasSwitchedUser,
    code: Number(process.exitCode),
    stdout: Buffer.concat(output),
    stderr: Buffer.concat(errorOutput).toString(),
  }
  process.exitCode = 0
  // The test may remove the folder of the command now.
  if (!hasSwitchedUser) process.chdir(INITIAL_DIRECTORY)
  process.send!(result)
})

function capture(name: 'stdout' | 'stderr'): Buffer[] {
  const written: Buffer[] = []
  process[name].write = ((text: string | Uint8Array, ...more: unknown[]) => {
    written.push(Buffer.from(text as string))
    const onWritten = more.at(-1)
    if (typeof onWritten === 'function') onWritten()
    return true
  }) as typeof process.stdout.write
  return written
}

/** Changes process.env in place: replacing the object would not change the environment that the system sees. */
function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}
