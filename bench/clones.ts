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
  /** Seconds of each complete clone, and of each download of the pack alone. */
  clones: number[]
  packs: number[]
}

/** Compares a clone by one git client from Godwit with one from git http-backend behind nginx. */
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
  return inEmptyDirectory(async (directory) => {
    await shell('chmod 755 "$1"', directory)
    const data = join(directory, 'data')
    const godwit = await startService({ repositories: root, data, login: owner, under: SERVER })
    try {
      await using nginx = await startNginx(directory, root)
      const path = `${owner}/${repository}`
      const { host } = new URL(godwit.url)
      const contestants: Contestant[] = [
        { name: 'Godwit', url: `http://x:${godwit.token}@${host}/${path}`, clones: [], packs: [] },
        { name: 'git http-backend, nginx', url: `${nginx.url}/${path}`, clones: [], packs: [] },
      ]
      const request = await packRequest(join(root, owner, repository), directory)
      for (const each of contestants) await clone(each.url, directory)
      await inTurns(rounds * ROUNDS_EACH, contestants, async ({ url, clones, packs }) => {
        clones.push(await clone(url, directory))
        packs.push(await fetchPack(url, request))
      })
      return report(contestants, bytes, rounds * ROUNDS_EACH)
    } finally {
      await godwit.stop()
    }
  })
}

async function clone(url: string, directory: string): Promise<number> {
  const into = join(directory, 'clone.git')
  const [program, ...args] = [...CLIENT, 'git', 'clone', '--quiet', '--bare', url, into]
  const took = await seconds(() => run(program!, args))
  await rm(into, { recursive: true })
  return took
}

/** The body that a protocol version 2 client sends to request all objects. */
async function packRequest(repository: string, directory: string): Promise<string> {
  const refs = await run('git', ['-C', repository, 'for-each-ref', '--format=%(objectname)'])
  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
  const wants = [...new Set(refs.split('\n'))].map((oid) => line(`want ${oid}\n`))
  const opening = `${line('command=fetch')}${line('object-format=sha1')}0001`
  const body = [line('thin-pack'), line('ofs-delta'), line('no-progress'), ...wants, line('done\n')]
  const file = join(directory, 'request')
  await writeFile(file, `${opening}${body.join('')}0000`)
  return file
}

/** Downloads the pack with curl, without the indexing that takes most of the time of a clone. */
async function fetchPack(url: string, request: string): Promise<number> {
  const headers = [
    ...['--header', 'Git-Protocol: version=2'],
    ...['--header', 'Content-Type: application/x-git-upload-pack-request'],
  ]
  const options = ['--silent', '--fail', '--output', '/dev/null', '--write-out', '%{time_total}']
  const [program, ...args] = [...CLIENT, 'curl', ...options, ...headers]
  const body = ['--data-binary', `@${request}`, `${url}/git-upload-pack`]
  return Number(await run(program!, [...args, ...body]))
}

/** nginx passes each request to git http-backend by fcgiwrap, as in git's manual. */
async function startNginx(directory: string, root: string) {
  const port = await freePort()
  const socket = join(directory, 'fcgi.sock')
  const config = join(directory, 'nginx.conf')
  const backend = join(await run('git', ['--exec-path']), 'git-http-backend')
  await writeFile(
    config,
    `daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log ${directory}/nginx.log;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {} http { access_log ${directory}/access.log; client_max_body_size 0;
    client_body_temp_path ${directory}/n1; proxy_temp_path ${directory}/n2; fastcgi_temp_path ${directory}/n3;
    uwsgi_temp_path ${directory}/n4; scgi_temp_path ${directory}/n5;
    server { listen 127.0.0.1:${port}; location / { fastcgi_pass unix:${socket}; fastcgi_buffering off;
    fastcgi_param SCRIPT_FILENAME ${backend}; fastcgi_param GIT_PROJECT_ROOT ${root};
    fastcgi_param GIT_HTTP_EXPORT_ALL ""; fastcgi_param PATH_INFO $uri; fastcgi_param QUERY_STRING $args;
    fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
    fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param GIT_PROTOCOL $http_git_protocol;
    fastcgi_param HOME ${directory}; } } }`,
  )
  await writeFile(join(directory, '.gitconfig'), '[safe]\n\tdirectory = *\n')
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
    ['complete clone', ({ clones }) => clones],
    ['pack alone', ({ packs }) => packs],
  ]
  return {
    title: 'Clones',
    notes: [
      `a repository of ${(bytes / 1e6).toFixed(0)} MB in the page cache, one client on its own core, the server and its git processes on another; medians of ${rounds} rounds`,
      `*complete clone*: by git, which spends most of the time indexing; *pack alone*: the same response downloaded by curl`,
      `both servers run the same git upload-pack; Godwit also checks a token and the repository, and runs git at nice 10; nginx does neither`,
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
        'complete clone, of git http-backend behind nginx',
        ratio(({ clones }) => clones, contestants[0]!),
        AIM,
      ),
    ],
    plots: [],
  }
}
