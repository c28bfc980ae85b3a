import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/free-port.ts'
import { PREVIEW } from '../test/support/service.ts'
import type { Corpus } from './contestants.ts'
import { CLIENT, SERVER } from './cores.ts'
import { has, inEmptyDirectory, inTurns, median, run, shell, spread } from './measure.ts'
import { stop } from './process.ts'
import { atLeast, round, type Section } from './section.ts'
import { startService } from './service.ts'

const AIM = 0.6
const ROUNDS_EACH = 3

/** Compares one client's download of an archive from Godwit with the same download from nginx. */
export async function benchDownloads(
  { root, owner, repositories }: Corpus,
  { rounds }: { rounds: number },
): Promise<Section> {
  return inEmptyDirectory(async (directory) => {
    await shell('chmod 755 "$1"', directory)
    const godwit = await startService({
      repositories: root,
      data: join(directory, 'data'),
      login: owner,
      under: SERVER,
    })
    try {
      const id = await godwit.start(repositories)
      await godwit.untilExported(id)
      const archive = join(directory, 'archive.tar.gz')
      const link = await linkTo(godwit.url, godwit.token, id)
      await shell('curl --silent --fail --output "$2" "$1"', link, archive)
      const bytes = Number(await shell('stat -c %s "$1"', archive))
      const servers = [{ name: 'Godwit', url: link, rates: [] as number[] }]
      await using nginx = await startNginx(directory)
      if (nginx) servers.push({ name: 'nginx', url: `${nginx.url}/archive.tar.gz`, rates: [] })
      for (const { url } of servers) await secondsToFetch(url)
      await inTurns(rounds * ROUNDS_EACH, servers, async ({ url, rates }) => {
        rates.push(bytes / 1e6 / (await secondsToFetch(url)))
      })
      return report(servers, bytes, rounds * ROUNDS_EACH)
    } finally {
      await godwit.stop()
    }
  })
}

async function linkTo(url: string, token: string, id: number): Promise<string> {
  const headers = { accept: PREVIEW, authorization: `bearer ${token}` }
  const init = { headers, redirect: 'manual' } as const
  const response = await fetch(`${url}/user/migrations/${id}/archive`, init)
  return response.headers.get('location')!
}

async function secondsToFetch(url: string): Promise<number> {
  const options = ['--silent', '--fail', '--output', '/dev/null', '--write-out', '%{time_total}']
  const [program, ...args] = [...CLIENT, 'curl', ...options, url]
  return Number(await run(program!, args))
}

/** Debian's nginx with its default settings: one process, sendfile, the file in the page cache. */
async function startNginx(directory: string) {
  const program = '/usr/sbin/nginx'
  if (!(await has(program))) return undefined
  const port = await freePort()
  const config = join(directory, 'nginx.conf')
  await writeFile(
    config,
    `daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log ${directory}/nginx.log;
    events {} http { access_log ${directory}/access.log; sendfile on; tcp_nopush on;
    client_body_temp_path ${directory}/n1; proxy_temp_path ${directory}/n2; fastcgi_temp_path ${directory}/n3;
    uwsgi_temp_path ${directory}/n4; scgi_temp_path ${directory}/n5;
    server { listen 127.0.0.1:${port}; root ${directory}; } }`,
  )
  const [first, ...args] = [...SERVER, program, '-c', config]
  const child = spawn(first!, args, { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(url).catch(() => undefined))) {
    if (child.exitCode !== null) throw new Error('nginx did not start')
    await sleep(50)
  }
  return { url, [Symbol.asyncDispose]: () => stop(child) }
}

function report(
  servers: { name: string; rates: number[] }[],
  bytes: number,
  rounds: number,
): Section {
  const of = (name: string) => servers.find((server) => server.name === name)
  const ours = median(of('Godwit')!.rates)
  const nginx = of('nginx')
  return {
    title: 'Downloads',
    notes: [
      `an archive of ${(bytes / 1e6).toFixed(0)} MB in the page cache, one curl on its own core, the server on another; medians of ${rounds} rounds`,
      'Godwit sends the archive from its segments, nginx (Debian’s, sendfile) from one file with the same bytes',
      ...(nginx ? [] : ['nginx is not installed here, so there is nothing to compare with']),
    ],
    tables: [
      {
        head: ['', 'MB/s', 'min – max', 'of nginx'],
        rows: servers.map(({ name, rates }) => [
          name,
          round(median(rates)),
          spread(rates, round),
          nginx ? `${round(median(rates) / median(nginx.rates))} ×` : '–',
        ]),
      },
    ],
    targets: nginx ? [atLeast('download, of nginx', ours / median(nginx.rates), AIM)] : [],
    plots: [],
  }
}
