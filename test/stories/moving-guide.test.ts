import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientCommandLine } from '../support/client-command-line.ts'
import { fakeServer, sendJson } from '../support/fake-server.ts'
import { readDump } from '../support/gitea-dump-reader.ts'
import { REAL_ARCHIVE } from '../support/real-archive.ts'

const MIGRATION = {
  ...{ id: 79, guid: '0b989ba4-242f-11e5-81e1-c7b6966d2516', lock_repositories: true },
  ...{ repositories: [], created_at: '2015-07-06T15:33:38Z', updated_at: '2015-07-06T15:33:38Z' },
}

/** A fake server program that records its arguments; gitea-restore.test.ts uses a real server. */
const SERVER_PROGRAM = `#!/bin/sh
[ "$1" = --version ] && echo 'forgejo version 11.0.1+gitea-1.22.0' || echo "$@" >> "$RESTORED"
`

test(
  'every command of docs/MOVING.md works, from GitHub to Forgejo',
  REAL_ARCHIVE.needed,
  async (t) => {
    const archive = await readFile(REAL_ARCHIVE.file)
    const bucket = await fakeServer(t, (_request, response) => {
      response.writeHead(200, { 'content-length': archive.length }).end(archive)
    })
    const github = await fakeServer(t, ({ method, path }, response) => {
      if (method === 'POST') return sendJson(response, 201, { ...MIGRATION, state: 'pending' })
      if (path.startsWith('/user/migrations/79?'))
        return sendJson(response, 200, { ...MIGRATION, state: 'exported' })
      if (path !== '/user/migrations/79/archive')
        return sendJson(response, 404, { message: 'Not Found' })
      response.writeHead(302, { location: `${bucket.url}/signed` }).end()
    })
    const token = 'ghp_C4n4ryOfAnotherMine0123456789'
    const { migration, godwit, folder } = await clientCommandLine(t, { url: github.url, token })
    const started = ['start', 'go-gitea/test_repo', '--lock-repositories', '--watch']
    assert.equal((await migration(0, ...started)).out, '79')
    await migration(0, 'download', '79', '--output', 'move.tar.gz')
    const run = async (...args: string[]) => {
      const ended = await godwit(args)
      assert.equal(ended.code, 0, ended.output)
      return ended.stdout.toString()
    }
    assert.match(await run('verify', 'move.tar.gz'), /verified/)
    const people = await run('show', 'move.tar.gz', '--people')
    await writeFile(join(folder, 'people.csv'), people.replace('mrsdizzie,,', 'mrsdizzie,dizzie,'))
    const options = ['--to', 'gitea-dump', '--output', 'dumps', '--people', 'people.csv']
    await run('convert', 'move.tar.gz', ...options)
    const dump = join(folder, 'dumps/go-gitea/test_repo')
    const { issues, pulls } = readDump(dump)
    assert.deepEqual(
      [...issues, ...pulls].map(({ number, poster_name }) => [number, poster_name]),
      [
        [1, 'guillep2k'],
        [2, 'dizzie'],
        [3, 'dizzie'],
        [4, 'dizzie'],
      ],
    )
    const program = join(folder, 'forgejo')
    await writeFile(program, SERVER_PROGRAM)
    await chmod(program, 0o755)
    const env = { PATH: process.env.PATH, GITEA: program, RESTORED: join(folder, 'restored') }
    const output = execFileSync('sh', [join(folder, 'dumps/restore.sh')], { env, encoding: 'utf8' })
    assert.match(output, /1 of 1 repositories restored\n {2}go-gitea\/test_repo\n$/)
    assert.equal(
      await readFile(join(folder, 'restored'), 'utf8'),
      `restore-repo --repo_dir ${dump} --owner_name go-gitea --repo_name test_repo\n`,
    )
  },
)
