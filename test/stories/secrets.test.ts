import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { gitHost } from '../support/git-host.ts'
import { type SharedService, untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

interface RecordingGit {
  /** The program for `--git`. */
  program: string
  /** Returns the arguments and the environment of every git process. Arguments are visible to every user of a machine. */
  recorded(): Promise<{ arguments: string; environment: string }>
  remove(): Promise<void>
}

/** Makes a git program that records how it is called. */
async function recordingGit(): Promise<RecordingGit> {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-recording-git-'))
  const program = join(dir, 'git')
  await writeFile(
    program,
    `#!/bin/sh\nprintf '%s\\n' "$*" >> ${dir}/arguments\nenv >> ${dir}/environment\nexec git "$@"\n`,
  )
  await chmod(program, 0o755)
  return {
    program,
    async recorded() {
      const read = (name: string) => readFile(join(dir, name), 'utf8')
      return { arguments: await read('arguments'), environment: await read('environment') }
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}

const CANARY = 'c4n4ry0fTheMine'
/** Secrets in the environment of an operator, which only the service itself may use. */
const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: 'AKIAc4n4ry0fTheEnvironment',
  AWS_SECRET_ACCESS_KEY: 'c4n4ry0fTheEnvironment/secret',
  GITHUB_TOKEN: 'ghp_c4n4ry0fTheEnvironment',
  GIT_ASKPASS: '/bin/c4n4ry0fTheEnvironment',
}

for (const engine of ['sqlite', 'postgres'] as const)
  test(`no secret is logged, printed, stored, passed on or exported, on ${engine}`, async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    const git = await recordingGit()
    t.after(git.remove)
    await host.repository('alice/site', {
      files: { a: '1' },
      wiki: { 'Home.md': '# Home' },
      config: {
        'remote.origin.url': `https://robot:${CANARY}@git.example.com/site.git`,
        'remote.origin.pushurl': `https://${CANARY}@git.example.com/site.git`,
        'remote.origin.mirror': 'true',
        'remote.origin.fetch': '+refs/*:refs/*',
        'http.extraHeader': `Authorization: ${CANARY}`,
        'http.proxy': `http://me:${CANARY}@proxy.example.com`,
        'credential.helper': `!echo password=${CANARY}`,
        'url.https://x.insteadOf': `https://${CANARY}@git.example.com/`,
        'gitweb.url': `https://robot:${CANARY}@www.example.com/`,
      },
    })
    await host.repository('alice/broken', {
      files: { a: '1' },
      config: { 'remote.origin.url': `https://robot:${CANARY}@git.example.com/broken.git` },
    })
    await host.loseObjects('alice/broken')
    const service = await startSharedService(t, {
      repositories: host.root,
      engine,
      env: ENVIRONMENT,
      flags: ['--log-level', 'trace', '--git', git.program],
    })
    const token = await service.token('alice')
    const responses: string[] = []
    const request = async (as: string, path: string, init?: RequestInit) => {
      const response = await service.call(as, path, init)
      responses.push(`${JSON.stringify([...response.headers])}${await response.clone().text()}`)
      return response
    }
    const start = async (body: object) => {
      const init = { method: 'POST', body: JSON.stringify(body) }
      return ((await (await request(token, '/user/migrations', init)).json()) as { id: number }).id
    }
    const id = await start({ repositories: ['site', 'broken'], allow_partial: true })
    await untilEnded(service, token, id, 'exported')
    const failed = await start({ repositories: ['broken'] })
    await untilEnded(service, token, failed, 'failed')
    for (const path of ['', `/${id}`, `/${id}/repositories`, `/${id}/progress`, `/${id}/report`])
      assert.equal((await request(token, `/user/migrations${path}`)).status, 200)
    for (const path of ['/user', '/user/repos', '/metrics', '/readyz']) await request(token, path)
    const redirect = await service.call(token, `/user/migrations/${id}/archive`)
    const signed = redirect.headers.get('location')!
    const archive = Buffer.from(await (await fetch(signed)).arrayBuffer())

    const shown = (await (await request(token, `/user/migrations/${id}`)).json()) as MigrationJson
    const cloneToken = shown.repositories[0]!.temp_clone_token
    assert.match(cloneToken, /^gwc_/)
    const refs = '/info/refs?service=git-upload-pack'
    for (const [password, status] of [
      [token, 200],
      [cloneToken, 200],
      [`${token}x`, 401],
      [`${cloneToken}x`, 401],
    ] as const) {
      const authorization = `Basic ${Buffer.from(`x:${password}`).toString('base64')}`
      const cloning = await request(token, `/alice/site.git${refs}`, { headers: { authorization } })
      assert.equal(cloning.status, status)
    }

    // People also send secrets in the wrong places.
    const misplaced: [path: string, init?: RequestInit][] = [
      [`/user/migrations?access_token=${token}&x=${CANARY}`],
      [`/user/migrations/${token}`],
      [`/user/migrations/${cloneToken}`],
      [`/${cloneToken}/site.git${refs}&token=${cloneToken}`],
      [`/user/migrations/${id}/repos/${token}/lock`, { method: 'DELETE' }],
      ['/user/migrations', { method: 'POST', body: `{"token": "${token}"` }],
      ['/user/migrations', { method: 'POST', body: JSON.stringify({ repositories: [token] }) }],
      ['/user', { headers: { cookie: CANARY, 'x-api-key': CANARY, referer: signed } }],
      ['/user', { headers: { 'user-agent': `${CANARY} ${token}` } }],
    ]
    for (const [path, init] of misplaced)
      for (const as of [token, `${token}x`]) await request(as, path, init)
    await fetch(`${signed}0`)
    await service.stop()

    const signature = new URL(signed).searchParams.get('sig')!
    const secrets = [
      token.slice(4),
      cloneToken.slice(-32),
      signature,
      CANARY,
      'c4n4ry0fTheEnvironment',
    ]
    if (service.databaseUrl) secrets.push(new URL(service.databaseUrl).password)
    const log = service.log()
    assert.match(log, /"audit":"migration.start"/)
    assert.match(log, /"path":"\/archives\//)
    const { arguments: args, environment } = await git.recorded()
    assert.match(args, /rev-list/)
    const places = {
      log,
      'the arguments of git': args,
      'the environment of git': environment,
      'the archive': gunzipSync(archive),
      ...(await filesBelow(service.data)),
      ...(await tablesOf(service)),
    }
    for (const [where, content] of Object.entries(places)) assertWithout(secrets, content, where)
    // A signed link is sent to its owner only.
    for (const response of responses)
      assertWithout([CANARY, 'c4n4ry0fTheEnvironment'], response, 'a response')
  })

interface MigrationJson {
  repositories: { temp_clone_token: string }[]
}

function assertWithout(secrets: readonly string[], content: string | Buffer, where: string): void {
  for (const secret of secrets) {
    assert.ok(!content.includes(secret), `${where} contains ${secret}`)
    const hidden = Buffer.from(secret).toString('base64').slice(0, -4)
    assert.ok(!content.includes(hidden), `${where} contains ${secret} in base64`)
  }
}

/** Reads all files of the service: database, segments, scratch files. */
async function filesBelow(folder: string): Promise<Record<string, Buffer>> {
  const files: Record<string, Buffer> = {}
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (file.isFile()) files[file.name] = await readFile(join(file.parentPath, file.name))
  return files
}

async function tablesOf({ databaseUrl }: SharedService): Promise<Record<string, string>> {
  if (databaseUrl === undefined) return {}
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const { rows } = await client.query<{ table_schema: string; table_name: string }>(
      "select table_schema, table_name from information_schema.tables where table_schema in ('public', 'pgboss')",
    )
    const tables: Record<string, string> = {}
    for (const { table_schema, table_name } of rows) {
      const all = await client.query(`select * from ${table_schema}.${table_name}`)
      tables[table_name] = JSON.stringify(all.rows)
    }
    return tables
  } finally {
    await client.end()
  }
}
