import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { until, withTimeout } from '../support/wait-until.ts'

const MAIN = new URL('../../packages/cli/src/main.ts', import.meta.url).pathname

/** Loaded before the program; prints the loaded modules at exit. */
const PRINT_MODULES = `
  import { writeSync } from 'node:fs'
  import { createRequire } from 'node:module'
  const { cache } = createRequire(${JSON.stringify(MAIN)})
  process.on('exit', () => {
    const names = [...process.moduleLoadList, ...Object.keys(cache)]
    writeSync(1, names.map((name) => 'loaded ' + name + '\\n').join(''))
  })`

/** Packages that an ordinary start does not need. Each would make every start slower. */
const OPTIONAL_PACKAGES = /undici|node_modules\/(?:@aws-sdk|pg|pg-boss)\//

test('a service on a disk does not load code for buckets or PostgreSQL, and caches compiled code at once', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'godwit-lean-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const listen = `127.0.0.1:${await freePort()}`
  const settings = [
    '--config',
    '/dev/null',
    '--data',
    join(directory, 'data'),
    '--repositories',
    directory,
  ]
  const importFlag = `--import=data:text/javascript,${encodeURIComponent(PRINT_MODULES)}`
  const args = [importFlag, MAIN, 'serve', ...settings, '--listen', listen]
  const cacheFolder = join(directory, 'code')
  const child = spawn(process.execPath, args, {
    env: { ...process.env, NODE_COMPILE_CACHE: cacheFolder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  let logged = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text
  })
  const loaded: string[] = []
  const reading = (async () => {
    for await (const line of createInterface(child.stdout)) {
      if (line.includes('listening at')) {
        // A killed process has cached its code for the next start.
        await until('compiled code is cached', () => hasFiles(cacheFolder))
        child.kill('SIGTERM')
      }
      if (line.startsWith('loaded ')) loaded.push(line.slice('loaded '.length))
    }
  })()
  await withTimeout(() => `the service starts and ends:\n${logged}`, Promise.all([ended, reading]))
  assert.ok(
    loaded.some((name) => name.includes('node_modules/fastify/')),
    logged,
  )
  assert.deepEqual(
    loaded.filter((name) => OPTIONAL_PACKAGES.test(name)),
    [],
  )
})

async function hasFiles(folder: string): Promise<boolean> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.some((entry) => entry.isFile())
}
