import { writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { createProgram } from '../src/commands/program.ts'
import { freePort } from '../test/support/free-port.ts'
import { mintToken } from '../test/support/mint-token.ts'
import { PREVIEW } from '../test/support/service.ts'
import { namesOfCopies } from './copies.ts'
import { OWNER } from './corpus.ts'

/**
 * Started by crossed-files.ts with a directory that has `repositories` in it: a service, then commands, all in this
 * process, where it is seen what runs. Writes the files of each into `crossed.json` there.
 */
const SOURCES = new URL('../src/', import.meta.url).href
/** Housekeeping may come in between: the least of so many counts. */
const COUNTS = 3

const [place = ''] = process.argv.slice(2)
const data = join(place, 'data')
const repositories = join(place, 'repositories')
const archive = join(place, 'archive.tar.gz')

const listen = `127.0.0.1:${await freePort()}`
const settings = ['--config', '/dev/null', '--data', data, '--repositories', repositories]
const serving = godwit('serve', ...settings, '--listen', listen, '--log-level', 'error')
while (!(await fetch(`http://${listen}/readyz`).catch(() => undefined))?.ok) await sleep(50)
const token = await mintToken({ dataDirectory: data, databaseUrl: undefined }, OWNER)
const headers = { accept: PREVIEW, authorization: `bearer ${token}` }

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

const id = await start()
const link = (await ask(`/user/migrations/${id}/archive`)).headers.get('location')!
await writeFile(archive, new Uint8Array(await (await fetch(link)).arrayBuffer()))
const crossed: Record<string, string[]> = {
  'a status': await leastFiles(() => ask(`/user/migrations/${id}`)),
  'a page of repositories': await leastFiles(() => ask(`/user/migrations/${id}/repositories`)),
  'a start, until it is exported': await leastFiles(start),
  'a download': await leastFiles(async () => (await fetch(link)).arrayBuffer()),
}
process.kill(process.pid, 'SIGTERM')
await serving
crossed.verify = await leastFiles(() => godwit('verify', archive, '--config', '/dev/null'))
crossed.sync = await leastFiles(() => godwit('sync', ...settings))
await writeFile(join(place, 'crossed.json'), JSON.stringify(crossed))

async function leastFiles(act: () => Promise<unknown>): Promise<string[]> {
  await act()
  const counts: string[][] = []
  while (counts.length < COUNTS) {
    await files()
    await act()
    counts.push(await files())
  }
  return counts.toSorted((a, b) => a.length - b.length)[0]!
}

/** Of which a function has run since the last look; a module that was only loaded does not count. */
async function files(): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url }) => url.startsWith(SOURCES))
    .filter(({ functions }) =>
      functions.some(({ ranges: [whole] }) => whole!.count > 0 && whole!.startOffset > 0),
    )
    .map(({ url }) => url.slice(SOURCES.length))
    .toSorted()
}

async function godwit(...args: string[]): Promise<void> {
  await (await createProgram(args)).parseAsync(args, { from: 'user' })
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const answer = await fetch(`http://${listen}${path}`, { headers, redirect: 'manual', ...init })
  if (answer.status >= 400) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer
}

/** Its end is looked for in the database, so that no other request is counted with it. */
async function start(): Promise<number> {
  const body = JSON.stringify({ repositories: namesOfCopies(2).map((name) => `${OWNER}/${name}`) })
  const answer = await ask('/user/migrations', { method: 'POST', body })
  const { id } = (await answer.json()) as { id: number }
  using database = new DatabaseSync(join(data, 'godwit.sqlite'), { readOnly: true })
  const row = database.prepare('select state, reason from migrations where id = ?')
  for (;;) {
    const { state, reason } = row.get(id) as { state: string; reason: string | null }
    if (state === 'exported') return id
    if (state === 'failed') throw new Error(`migration ${id} failed: ${reason}`)
    await sleep(20)
  }
}
