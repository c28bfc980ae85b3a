import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A server that tells on its standard output, by a line with an address, that it listens. */
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
    // Nobody reads on: a server that goes on talking must not be held up by that.
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

/** The CPU time of all its threads so far, in seconds. */
export async function cpuOf(pid: number): Promise<number> {
  const [, after = ''] = (await readFile(join('/proc', String(pid), 'stat'), 'utf8')).split(') ')
  const [user, system] = after.split(' ').slice(11, 13).map(Number)
  return (user! + system!) / TICKS_A_SECOND
}

/** As Linux tells it on every machine. */
const TICKS_A_SECOND = 100

type Memory = 'VmRSS' | 'VmHWM'

/** What is resident now, or was at most since `forgetPeak`, in MB. */
export async function memoryOf(pid: number, which: Memory): Promise<number> {
  const status = await readFile(join('/proc', String(pid), 'status'), 'utf8')
  return (Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024) / 1e6
}

export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(join('/proc', String(pid), 'clear_refs'), '5')
}
