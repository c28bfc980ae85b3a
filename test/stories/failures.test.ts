import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { lockDataDirectory } from '../../packages/server/src/db/connect.ts'
import { commandLine } from '../support/command-line.ts'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { createDatabase } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { createCommandRunner } from '../support/shared-commands.ts'

test('every error of a command is one line that says what failed and what to do next', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const { folder, env } = await commandLine(t)
  const godwit = createCommandRunner({ cwd: folder, env })
  const data = join(folder, 'data')
  const settings = ['--repositories', host.root, '--data', data]
  assert.equal((await godwit(['sync', ...settings])).code, 0)

  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.after(() => listener.close())
  const { port } = listener.address() as { port: number }
  const taken = join(temporaryDirectory(t), 'taken')
  t.after(lockDataDirectory(taken))
  const newer = join(temporaryDirectory(t), 'newer')
  assert.equal((await godwit(['account', 'add', 'bob', '--data', newer])).code, 0)
  const database = new DatabaseSync(join(newer, 'godwit.sqlite'))
  database.exec("insert into godwit_schema values (999, 'from the future', 0)")
  database.close()
  const postgres = new URL(await createDatabase())
  postgres.pathname = '/nowhere'
  const encrypted = await createDatabase()
  const unreachable = `postgres://u:S3kret@127.0.0.1:${await freePort()}/godwit`

  const ascii = await createDatabase(undefined, 'SQL_ASCII')

  const serve = ['serve', ...settings, '--listen', `127.0.0.1:${port}`]
  const expected: [code: number, args: string[], expected: RegExp][] = [
    [2, ['serv'], /unknown command 'serv'\n\(Did you mean serve\?\)/],
    [2, ['serve', '--repositorys', 'x'], /unknown option '--repositorys'\n\(Did you mean --repo/],
    [2, ['token', 'ad', 'alice'], /unknown command 'ad'\n\(Did you mean add\?\)/],
    [2, ['config', '--listen', 'x'], /--listen: must be HOST:PORT, such as 127.0.0.1:3000/],
    [2, ['sync', '--data', data], /no repositories: set --repositories DIR/],
    [
      1,
      ['sync', ...settings, '--repositories', 'gone'],
      /directory .*gone does not exist: check the spelling/,
    ],
    [
      1,
      ['sync', ...settings, '--git', '/gone/git'],
      /git does not exist: install git 2.30 or newer, or set --git/,
    ],
    [
      1,
      ['serve', ...settings, '--git', '/gone/git'],
      /git does not exist: install git 2.30 or newer, or set --git/,
    ],
    [1, [...serve, '--log-level', 'silent'], /--listen 127\S+: address already in use/],
    [1, ['serve', ...settings, '--data', taken], /already running on .*: stop it, or set another/],
    [
      1,
      ['serve', ...settings, '--database-url', ascii],
      /has encoding SQL_ASCII, not UTF8: create one with `createdb --encoding=UTF8 --template/,
    ],
    [1, ['account', 'list', '--data', newer], /has schema 999, .*use the newer version of Godwit/],
    [
      4,
      ['sync', ...settings, '--database-url', unreachable],
      /does not respond: check that PostgreSQL is running/,
    ],
    [
      1,
      ['sync', ...settings, '--database-url', postgres.href],
      /has no database nowhere: create it with createdb/,
    ],
    [
      4,
      ['sync', ...settings, '--database-url', 'postgres:///godwit?host=/gone'],
      /the database at this machine .* does not respond: check that PostgreSQL is running/,
    ],
    [
      1,
      ['sync', ...settings, '--database-url', `${encrypted}?sslmode=verify-full`],
      /^godwit: the database at 127\S+ \(--database-url\) cannot be used: The server does not support SSL/,
    ],
    [
      1,
      ['serve', ...settings, '--database-url', `${encrypted}?sslrootcert=/gone.pem`],
      /cannot be used: ENOENT: no such file or directory, open '\/gone\.pem'\n$/,
    ],
    [
      1,
      ['sync', ...settings, '--database-url', `${encrypted}?options=-c%20foo`],
      /cannot be used: -c foo requires a value\n$/,
    ],
    [
      1,
      ['copy', '--data', data, '--to-database-url', postgres.href],
      /\(--to-database-url\) has no database nowhere: create it with createdb/,
    ],
    [
      1,
      ['copy', '--from', join(folder, 'gone'), '--to', join(folder, 'copy')],
      /there is no database at \S+gone\/godwit.sqlite: .* first, or set --from\n$/,
    ],
    [
      1,
      ['token', 'add', 'bob', '--data', data],
      /account bob does not exist: .*, run `godwit sync`/,
    ],
    [
      1,
      ['token', 'remove', '7', '--data', data],
      /token 7 does not exist or is not valid: `godwit token list` shows/,
    ],
    [
      1,
      ['account', 'show', 'bob', '--data', data],
      /account bob does not exist: check the spelling \(`godwit account list` shows/,
    ],
    [1, ['verify', folder], /folder has neither schema.json nor repositories/],
    [1, ['restore', 'gone', '--into', 'x'], /gone: no such file or directory/],
    [1, ['export', 'alice', ...settings, '--output', 'gone/a'], /directory .*gone does not exist/],
  ]
  for (const [code, args, pattern] of expected) {
    const ended = await godwit(args)
    const message = `${args.join(' ')}: ${ended.stderr}`
    assert.equal(ended.code, code, message)
    assert.match(ended.stderr, pattern)
    assert.match(ended.stderr, /^godwit: /)
    assert.doesNotMatch(ended.stderr, /\n {4}at |S3kret/, message)
    assert.equal(ended.stdout, '', message)
  }
})
