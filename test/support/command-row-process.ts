import { createProgram } from '../../src/commands/program.ts'
import { runCommand } from '../../src/commands/report-failure.ts'
import type { Command, Ended, Output } from './command-row.ts'

/** Started by command-row.ts: runs one command after the other like main.ts, and captures the output of each. */
for (const each of [process, process.stdout, process.stderr]) each.setMaxListeners(0)

const HERE = process.cwd()
const USER = process.getuid?.()
const isCaught = (process.argv[2] as Output) === 'caught'

process.on('message', async ({ args, cwd, env }: Command) => {
  const said = caught('stderr')
  const printed = isCaught ? caught('stdout') : []
  takeEnvironment(env)
  process.chdir(cwd)
  process.argv = [process.argv[0]!, 'godwit', ...args]
  process.exitCode = 0
  await runCommand(async () => {
    const program = await createProgram(args)
    await program.parseAsync()
  })
  // Some commands switch to the user that owns the data, and cannot switch back.
  const isSpent = process.getuid?.() !== USER
  const ended: Ended & { isSpent: boolean } = {
    isSpent,
    code: Number(process.exitCode),
    stdout: Buffer.concat(printed),
    stderr: Buffer.concat(said).toString(),
  }
  process.exitCode = 0
  // The test may remove the folder of the command now.
  if (!isSpent) process.chdir(HERE)
  process.send!(ended)
})

function caught(name: 'stdout' | 'stderr'): Buffer[] {
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
function takeEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}
