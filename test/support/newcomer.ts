import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { inTime } from './wait-until.ts'

const ROOT = new URL('../..', import.meta.url).pathname
export const OUR_PROGRAMS = join(ROOT, 'node_modules/.bin')
const run = promisify(execFile)

/** The commands of the README under this heading, each without what is said about it. */
export async function readmeCommands(heading: string): Promise<string[]> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
  const section = readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const [, block = ''] = /```sh\n(.*?)```/s.exec(section) ?? []
  return block
    .split('\n')
    .map((line) => line.replace(/ +#.*/, ''))
    .filter(Boolean)
}

/** What of npm's own variables says where packages come from; the rest is about the run of the tests. */
const ABOUT_THE_MACHINE = /^npm_config_(registry|cache|userconfig|globalconfig|.*proxy)$/i

/** The environment of somebody who has just cloned it: their programs, none of this checkout's. */
export function newcomersEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_|GODWIT_)/i.test(name) || ABOUT_THE_MACHINE.test(name),
  )
  const folders = (process.env.PATH ?? '').split(delimiter)
  return {
    ...Object.fromEntries(entries),
    PATH: folders.filter((folder) => !folder.includes('node_modules/.bin')).join(delimiter),
    GODWIT_CONFIG: '/dev/null',
    // What `npm ci` of this checkout has fetched need not be fetched again.
    npm_config_prefer_offline: 'true',
  }
}

/** A terminal: a folder, an environment, and what is typed there. */
export interface Terminal {
  folder: string
  env: NodeJS.ProcessEnv
}

export async function paste({ folder, env }: Terminal, command: string): Promise<string> {
  const { stdout } = await run('bash', ['-c', command], { cwd: folder, env, maxBuffer: 1 << 24 })
  return stdout
}

export interface Sample {
  url: string
  /** What is printed to be pasted: status, repositories, start, download. */
  commands: string[]
  /** What Ctrl-C does. */
  stop(): Promise<void>
}

/** Types a command that starts the service on its sample, and waits for the screen. */
export async function startSample(
  t: { after(act: () => void): void },
  { folder, env }: Terminal,
  command: string,
  listen?: string,
): Promise<Sample> {
  const place = listen ?? `127.0.0.1:${await freePort()}`
  const child = spawn('bash', ['-c', command], {
    cwd: folder,
    env: { ...env, GODWIT_LISTEN: place },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const signal = (name: NodeJS.Signals) => child.pid && process.kill(-child.pid, name)
  t.after(() => {
    if (child.exitCode === null && child.signalCode === null) signal('SIGKILL')
  })
  const commands: string[] = []
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('curl ')) commands.push(line)
    if (commands.length < 4) continue
    return {
      url: `http://${place}`,
      commands,
      async stop() {
        signal('SIGINT')
        await inTime(`${command} ends after Ctrl-C`, once(child, 'exit'))
      },
    }
  }
  throw new Error(`${command} ended before it printed its commands:\n${said}`)
}
