import { spawn } from 'node:child_process'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/free-port.ts'
import { CLIENT, SERVER } from './cores.ts'
import { has, inEmptyDirectory, inTurns, median, run, seconds, shell, spread } from './measure.ts'
import { stop } from './process.ts'
import { atLeast, round, type Section } from './section.ts'
import { startService } from './service.ts'

const AIM = 0.8
const ROUNDS_EACH = 3
const NGINX = '/usr/sbin/nginx'
const FCGIWRAP = '/usr/sbin/fcgiwrap'

interface Contestant {
  name: string
  url: string
  /** Seconds of each whole clone, and of the answer alone. */
  clones: number[]
  packs: number[]
}

/** One git client that clones, from Godwit and from git's own server behind a web server. */
export async function benchClones(
  root: string,
  { rounds }: { rounds: number },
): Promise<Section | undefined> {
  if (!(await has(NGINX)) || !(await has(FCGIWRAP))) {
    console.error('nginx or fcgiwrap is not installed here: there is nothing to compare with')
    return undefined
  }
  const [owner = ''] = await readdir(root)
  const [repository = ''] = await readdir(join(root, owner))
  const bytes = Number(await shell('du -sb "$1" | cut -f1', join(root, owner, repository)))
  return inEmptyDirectory(async (place) => {
    await shell('chmod 755 "$1"', place)
    const data = join(place, 'data')
    const godwit = await startService({ repositories: root, data, login: owner, under: SERVER })
    try {
      await using nginx = await startNginx(place, root)
      const path = `${owner}/${repository}`
      const { host } = new URL(godwit.url)
      const contestants: Contestant[] = [
        { name: 'Godwit', url: `http://x:${godwit.token}@${host}/${path}`, clones: [], packs: [] },
        { name: 'git http-backend, nginx', url: `${nginx.url}/${path}`, clones: [], packs: [] },
      ]
      const request = await packRequest(join(root, owner, repository), place)
      for (const each of contestants) await clone(each.url, place)
      await inTurns(rounds * ROUNDS_EACH, contestants, async ({ url, clones, packs }) => {
        clones.push(await clone(url, place))
        packs.push(await fetchPack(url, request))
      })
      return report(contestants, bytes, rounds * ROUNDS_EACH)
    } finally {
      await godwit.stop()
    }
  })
}

async function clone(url: string, place: string): Promise<number> {
  const into = join(place, 'clone.git')
  const [program, ...args] = [...CLIENT, 'git', 'clone', '--quiet', '--bare', url, into]
  const took = await seconds(() => run(program!, args))
  await rm(into, { recursive: true })
  return took
}

/** What a client of protocol version 2 sends to have everything. */
async function packRequest(repository: string, place: string): Promise<string> {
  const refs = await run('git', ['-C', repository, 'for-each-ref', '--format=%(objectname)'])
  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
  const wants = [...new Set(refs.split('\n'))].map((oid) => line(`want ${oid}\n`))
  const opening = `${line('command=fetch')}${line('object-format=sha1')}0001`
  const asked = [
    line('thin-pack'),
    line('ofs-delta'),
    line('no-progress'),
    ...wants,
    line('done\n'),
  ]
  const file = join(place, 'request')
  await writeFile(file, `${opening}${asked.join('')}0000`)
  return file
}

/** Without what the client does with it, which is most of a clone. */
async function fetchPack(url: string, request: string): Promise<number> {
  const headers = [
    ...['--header', 'Git-Protocol: version=2'],
    ...['--header', 'Content-Type: application/x-git-upload-pack-request'],
  ]
  const told = ['--silent', '--fail', '--output', '/dev/null', '--write-out', '%{time_total}']
  const [program, ...args] = [...CLIENT, 'curl', ...told, ...headers]
  const body = ['--data-binary', `@${request}`, `${url}/git-upload-pack`]
  return Number(await run(program!, [...args, ...body]))
}

/** As git's own manual has it: nginx hands each request to git http-backend, by fcgiwrap. */
async function startNginx(place: string, root: string) {
  const port = await freePort()
  const socket = join(place, 'fcgi.sock')
  const config = join(place, 'nginx.conf')
  const backend = join(await run('git', ['--exec-path']), 'git-http-backend')
  await writeFile(
    config,
    `daemon off; worker_processes 1; pid ${place}/nginx.pid; error_log ${place}/nginx.log;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {} http { access_log ${place}/access.log; client_max_body_size 0;
    client_body_temp_path ${place}/n1; proxy_temp_path ${place}/n2; fastcgi_temp_path ${place}/n3;
    uwsgi_temp_path ${place}/n4; scgi_temp_path ${place}/n5;
    server { listen 127.0.0.1:${port}; location / { fastcgi_pass unix:${socket}; fastcgi_buffering off;
    fastcgi_param SCRIPT_FILENAME ${backend}; fastcgi_param GIT_PROJECT_ROOT ${root};
    fastcgi_param GIT_HTTP_EXPORT_ALL ""; fastcgi_param PATH_INFO $uri; fastcgi_param QUERY_STRING $args;
    fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
    fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param GIT_PROTOCOL $http_git_protocol;
    fastcgi_param HOME ${place}; } } }`,
  )
  await writeFile(join(place, '.gitconfig'), '[safe]\n\tdirectory = *\n')
  const start = (command: string[]) => {
    const [program, ...args] = [...SERVER, ...command]
    return spawn(program!, args, { stdio: 'ignore' })
  }
  const wrap = start([FCGIWRAP, '-c', '4', '-s', `unix:${socket}`])
  const nginx = start([NGINX, '-c', config])
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(url).catch(() => undefined))) {
    if (nginx.exitCode !== null) throw new Error('nginx did not start')
    await sleep(50)
  }
  const end = () => Promise.all([stop(nginx), stop(wrap)]).then(() => {})
  return { url, [Symbol.asyncDispose]: end }
}

function report(contestants: Contestant[], bytes: number, rounds: number): Section {
  const peer = contestants[1]!
  const rates = (took: readonly number[]) => took.map((each) => bytes / 1e6 / each)
  const ratio = (of: (each: Contestant) => number[], each: Contestant) =>
    median(rates(of(each))) / median(rates(of(peer)))
  const kinds: [name: string, of: (each: Contestant) => number[]][] = [
    ['whole clone', ({ clones }) => clones],
    ['pack alone', ({ packs }) => packs],
  ]
  return {
    title: 'Clones',
    notes: [
      `a repository of ${(bytes / 1e6).toFixed(0)} MB in the page cache, by one client on a core of its own, the server with its gits on another; medians of ${rounds} rounds`,
      'a whole clone is by git, which spends most of it indexing; the pack alone is the same answer taken by curl',
      'both run the same git upload-pack; Godwit asks for a token, looks it up and checks the repository, and its gits yield to whatever else runs on the machine (nice 10); nginx does none of that',
    ],
    tables: [
      {
        head: ['', 'MB/s', 'min – max', 'of nginx'],
        rows: kinds.flatMap(([kind, of]) =>
          contestants.map((each) => [
            `${kind}: ${each.name}`,
            round(median(rates(of(each)))),
            spread(rates(of(each)), round),
            `${round(ratio(of, each))} ×`,
          ]),
        ),
      },
    ],
    targets: [
      atLeast(
        'whole clone, of git http-backend behind nginx',
        ratio(({ clones }) => clones, contestants[0]!),
        AIM,
      ),
    ],
    plots: [],
  }
}
