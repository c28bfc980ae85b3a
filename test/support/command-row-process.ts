import { createProgram } from '../../src/commands/program.ts'
import { runToTheEnd } from '../../src/commands/report-failure.ts'
import type { Command, Ended } from './command-row.ts'

/** Started by command-row.ts: runs one command after the other as main.ts does, and catches what each of them writes. */
for (const each of [process, process.stdout, process.stderr]) each.setMaxListeners(0)

process.on('message', async ({ args, env }: Command) => {
  const before = { ...process.env }
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = ((text: string | Uint8Array, ...more: unknown[]) => {
      written[name] += String(text)
      const onWritten = more.at(-1)
      if (typeof onWritten === 'function') onWritten()
      return true
    }) as typeof process.stdout.write
  }
  Object.assign(process.env, env)
  process.argv = [process.argv[0]!, 'godwit', ...args]
  process.exitCode = 0
  await runToTheEnd(async () => {
    const program = await createProgram(args)
    await program.parseAsync()
  })
  const ended: Ended = { code: Number(process.exitCode), ...written }
  process.exitCode = 0
  process.env = before
  process.send!(ended)
})
