import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import { startService } from '../support/service.ts'
import { slowGit } from '../support/slow-git.ts'

const WATCHERS = 1000

test('a thousand event streams of one migration all receive its end', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const names = ['alice/a', 'alice/b', 'alice/c']
  for (const name of names) await host.repository(name, { files: { a: name } })
  const git = await slowGit()
  t.after(git.remove)
  const service = await startService(t, {
    repositories: host.root,
    flags: [
      ...['--git', git.program, '--rate-limit', '0'],
      ...['--max-streams-per-account', String(WATCHERS)],
    ],
  })
  const alice = await service.token('alice')
  const body = JSON.stringify({ repositories: names })
  await service.call(alice, '/user/migrations', { method: 'POST', body })
  await git.untilSlow()
  const headers = { accept: 'text/event-stream' }
  const watch = () => service.call(alice, '/user/migrations/1/progress', { headers })
  const streams = await Promise.all(Array.from({ length: WATCHERS }, watch))
  await git.speedUp()
  for (const text of await Promise.all(streams.map((stream) => stream.text()))) {
    assert.equal(text.match(/^event: repository$/gm)?.length, names.length)
    assert.match(text, /^event: end$/m)
  }
})
