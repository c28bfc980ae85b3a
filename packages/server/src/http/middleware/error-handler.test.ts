import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect, createServer } from 'node:net'
import { describe, test } from 'node:test'
import pg from 'pg'
import { createDatabase } from '../../../../../test/support/postgres.ts'
import { BlobsUnavailable } from '../../blobs/blob-store.ts'
import { isTemporary } from './error-handler.ts'

const coded = (code: string, message = 'message') => Object.assign(new Error(message), { code })

describe('a temporary error', () => {
  for (const error of [
    new Error('Connection terminated unexpectedly'),
    new Error('Connection terminated'),
    new Error('Connection terminated due to connection timeout'),
    new Error('Client has encountered a connection error and is not queryable'),
    new Error('Client was closed and is not queryable'),
    new Error('timeout exceeded when trying to connect'),
    new Error('timeout expired'),
    new Error('Query read timeout'),
    new Error('Received unexpected commandComplete message from backend.'),
    new Error('Cannot use a pool after calling end on the pool'),
    coded('57P01', 'terminating connection due to administrator command'),
    coded('57P03', 'the database system is starting up'),
    coded('53300', 'sorry, too many clients already'),
    coded('40001', 'could not serialize access'),
    coded('25006', 'cannot execute INSERT in a read-only transaction'),
    coded('58030', 'could not read block'),
    coded('ENOTFOUND', 'getaddrinfo ENOTFOUND db'),
    Object.assign(coded('ENOENT', 'connect ENOENT /run/postgresql/.s.PGSQL.5432'), {
      syscall: 'connect',
    }),
    new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]),
    new SuppressedError(
      new Error('a file was not closed'),
      new Error('Connection terminated unexpectedly'),
    ),
    new Error('could not be done', { cause: new Error('Connection terminated unexpectedly') }),
    new BlobsUnavailable('GetObject: socket hang up'),
  ]) {
    test(`${error.name}: ${error.message}`, () => assert.equal(isTemporary(error), true))
  }

  test('includes every connection error of pg without a code', () => {
    const sources = ['pg/lib/client.js', 'pg-pool'].map((path) =>
      readFileSync(createRequire(import.meta.url).resolve(path), 'utf8'),
    )
    const messages = sources
      .flatMap((text) => [...text.matchAll(/new Error\('([^']+)'/g)])
      .map(([, message]) => message!)
      .filter((message) => /terminated|queryable|time(d )?out|unexpected .* message/i.test(message))
    assert.ok(messages.length >= 12, messages.join('\n'))
    assert.deepEqual(
      messages.filter((message) => !isTemporary(new Error(message))),
      [],
    )
  })
})

describe('a permanent error', () => {
  for (const error of [
    new TypeError('undefined is not a function'),
    new Error('Query values must be an array'),
    coded('23505', 'duplicate key value'),
    coded('42P01', 'relation does not exist'),
    coded('ENOENT', 'no such file'),
    new AggregateError([]),
    new AggregateError([coded('ECONNREFUSED'), new TypeError('a mistake of ours')]),
    new SuppressedError(new Error('Connection terminated unexpectedly'), new TypeError('ours')),
    'Connection terminated unexpectedly',
  ]) {
    test(String(error), () => assert.equal(isTemporary(error), false))
  }
})

describe('PostgreSQL is temporarily unavailable', () => {
  test('when it ends a connection during a query', async () => {
    const url = await createDatabase()
    const [victim, other] = [new pg.Client(url), new pg.Client(url)]
    victim.on('error', () => {})
    await Promise.all([victim.connect(), other.connect()])
    const { rows } = await victim.query('select pg_backend_pid() as pid')
    const running = victim.query('select pg_sleep(60)').catch((error: unknown) => error)
    await other.query('select pg_terminate_backend($1)', [rows[0].pid])
    assert.equal(isTemporary(await running), true, String(await running))
    const next = await victim.query('select 1').catch((error: unknown) => error)
    assert.equal(isTemporary(next), true, String(next))
    await other.end()
  })

  test('when the network breaks during a query', async (t) => {
    const { port, href } = new URL(await createDatabase())
    const network = createServer((socket) => {
      const upstream = connect(Number(port), '127.0.0.1')
      socket
        .on('error', () => {})
        .pipe(upstream.on('error', () => {}))
        .pipe(socket)
      network.on('break', () => [socket, upstream].map((each) => each.destroy()))
    })
    t.after(() => network.close())
    await new Promise<void>((resolve) => network.listen(0, '127.0.0.1', resolve))
    const proxied = new URL(href)
    proxied.port = String((network.address() as { port: number }).port)
    const client = new pg.Client(proxied.href)
    client.on('error', () => {})
    await client.connect()
    const running = client.query('select pg_sleep(60)').catch((error: unknown) => error)
    network.emit('break')
    assert.equal(isTemporary(await running), true, String(await running))
  })
})
