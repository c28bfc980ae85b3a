import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Starts a server that prints a line with its address on standard output once it listens. */
export interface Server extends AsyncDisposable {
  url: string
  pid: number
}

export async function startServer(
  [program, ...args]: readonly string[],
  { input, ...options }: SpawnOptions & { input?: string } = {},
): Promise<Server> {
  const child = spawn(program!, args, { ...options, stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin!.on('error', () => {}).end(input)
  try {
    const url = await addressOf(child)
    // Discards further output, so that a full pipe does not block the server.
    child.stdout!.resume()
    return { url, pid: child.pid!, [Symbol.asyncDispose]: () => stop(child) }
  } catch (error) {
    await stop(child)
    throw error
  }
}

export async function addressOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface(child.stdout!)) {
    const address = /(?:listening|listening at|listening on)\D*(http:\S+:\d+)/.exec(line)?.[1]
    if (address) return address
  }
  throw new Error(`${child.spawnargs.join(' ')} did not start`)
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Returns the CPU time of all threads of the process so far, in seconds; if wanted, with that of its children that have ended. */
export async function cpuOf(pid: number, { withChildren = false } = {}): Promise<number> {
  const [, after = ''] = (await readFile(join('/proc', String(pid), 'stat'), 'utf8')).split(') ')
  const times = after.split(' ').slice(11, withChildren ? 15 : 13)
  return times.reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_A_SECOND
}

/** Linux uses 100 ticks a second on every architecture. */
const TICKS_A_SECOND = 100

type Memory = 'VmRSS' | 'VmHWM'

/** Returns the resident memory now, or its peak since `forgetPeak`, in MB. */
export async function memoryOf(pid: number, which: Memory): Promise<number> {
  const status = await readFile(join('/proc', String(pid), 'status'), 'utf8')
  return (Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024) / 1e6
}

export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(join('/proc', String(pid), 'clear_refs'), '5')
}
