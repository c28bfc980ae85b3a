import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { SELF_SIGNED } from './forge/self-signed.ts'
import { freePort } from './free-port.ts'
import { temporaryDirectory } from './odd-repositories.ts'
import { skipUnless } from './skip-unless.ts'
import { inTime, until } from './wait-until.ts'

const EXAMPLE = new URL('../../packaging/proxy/nginx.conf', import.meta.url)
const searchPath = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`

/** For tests on nginx: where it is absent they are skipped by name, except in CI, where they fail. */
export const needsNginx = skipUnless(isInstalled(), 'nginx is not installed')

function isInstalled(): boolean {
  try {
    execFileSync('which', ['nginx'], { env: { PATH: searchPath } })
    return true
  } catch {
    return false
  }
}

export interface Nginx {
  /** A request over TLS; from another address of this machine where one is named. */
  get(path: string, headers?: Record<string, string>, from?: string): Promise<IncomingMessage>
  /** What it keeps of answers on its disk. */
  spooled(): string[]
}

/** The example as it is in the project, but for its port, its certificate and the port of what it stands before. */
export async function nginxBefore(t: Pick<TestContext, 'after'>, upstream: string): Promise<Nginx> {
  const base = temporaryDirectory(t)
  const port = await freePort()
  const spool = join(base, 'spool')
  mkdirSync(spool)
  writeFileSync(join(base, 'cert.pem'), SELF_SIGNED.cert)
  writeFileSync(join(base, 'key.pem'), SELF_SIGNED.key)
  const site = replaced(readFileSync(EXAMPLE, 'utf8'), {
    'server 127.0.0.1:3000;': `server ${upstream};`,
    'listen 443 ssl http2;': `listen 127.0.0.1:${port} ssl http2;`,
    '/etc/letsencrypt/live/migrations.example.com/fullchain.pem': join(base, 'cert.pem'),
    '/etc/letsencrypt/live/migrations.example.com/privkey.pem': join(base, 'key.pem'),
  })
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const spools = kinds.map((kind) => `${kind}_temp_path ${spool};`).join('\n')
  const http = `access_log off;\n${spools}\n${site}`
  writeFileSync(
    join(base, 'nginx.conf'),
    `daemon off;\npid ${base}/pid;\nerror_log stderr;\nevents {}\nhttp {\n${http}\n}\n`,
  )
  const args = ['-p', base, '-c', join(base, 'nginx.conf')]
  let said = ''
  const env = { ...process.env, PATH: searchPath }
  const child = spawn('nginx', args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  t.after(() => stop(child))
  const get: Nginx['get'] = async (path, headers = {}, from = '127.0.0.1') => {
    const asking = request({
      ...{ host: '127.0.0.1', port, path, localAddress: from },
      headers: { 'user-agent': 'behind-nginx', ...headers },
      ...{ rejectUnauthorized: false, agent: false },
    })
    asking.end()
    const [answer] = (await once(asking, 'response')) as [IncomingMessage]
    return answer
  }
  await until(
    () => `nginx answers:\n${said}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended:\n${said}`)
      const answer = await get('/healthz').catch(() => undefined)
      answer?.resume()
      return answer?.statusCode === 200
    },
  )
  return { get, spooled: () => readdirSync(spool, { recursive: true }).map(String) }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await inTime('nginx ends', ended)
}

function replaced(text: string, by: Readonly<Record<string, string>>): string {
  return Object.entries(by).reduce((made, [from, to]) => {
    if (!made.includes(from)) throw new Error(`the example has no "${from}"`)
    return made.replace(from, to)
  }, text)
}
