import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'

test('commands are in the audit log with the user who ran them, also quotas, and filters select them', async (t) => {
  const run = createCommandRunner()
  const data = ['--data', temporaryDirectory(t)]
  const godwit = async (expected: number, ...args: string[]) => {
    const { code, stdout, stderr } = await run([...args, ...data])
    assert.equal(code, expected, stderr)
    return expected === 0 ? stdout : stderr
  }
  await godwit(0, 'account', 'add', 'octo', '--type', 'Organization')
  await godwit(0, 'account', 'add', 'alice')
  const quota = async (value: string) => {
    const edited = await godwit(
      0,
      'account',
      'edit',
      'octo',
      '--max-archive-bytes',
      value,
      '--json',
    )
    return (JSON.parse(edited) as { max_archive_bytes: unknown }).max_archive_bytes
  }
  assert.equal(await quota('50G'), 50_000_000_000)
  assert.match(await godwit(0, 'account', 'list'), /octo +Organization +no +50 GB/)
  assert.deepEqual([await quota('none'), await quota('default')], ['none', 'default'])
  const wrong = await godwit(2, 'account', 'edit', 'octo', '--max-archive-bytes', '5 apples')
  assert.match(wrong, /--max-archive-bytes 5 apples: must be a size such as 500M or 50G/)
  await godwit(0, 'member', 'add', 'octo', 'alice')
  await godwit(0, 'member', 'remove', 'octo', 'alice')
  const token = (await godwit(0, 'token', 'add', 'alice', '--name', 'laptop')).trim()
  await godwit(0, 'token', 'remove', '--all-of', 'alice')
  await godwit(0, 'token', 'replace-clone-key')
  await godwit(1, 'token', 'remove', '99')

  const lines = await godwit(0, 'audit', '--since', '1h', '--json')
  assert.equal(lines.includes(token), false)
  const entries = lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    entries.map(({ action, subject }) => [action, subject]),
    [
      ['clone_key.replace', null],
      ['token.revoke', 'token 1'],
      ['session.close-all', 'account alice'],
      ['token.create', 'account alice'],
      ['member.remove', 'account alice'],
      ['member.put', 'account alice'],
      ['account.update', 'account octo'],
      ['account.update', 'account octo'],
      ['account.update', 'account octo'],
      ['account.create', 'account alice'],
      ['account.create', 'account octo'],
    ],
  )
  for (const { actor, details } of entries) {
    assert.equal(actor, 'command line')
    assert.ok((details as { user: string }).user)
  }
  const found = await godwit(0, 'audit', '--actor', 'command line', '--action', 'member.put')
  assert.match(found, /^TIME +ACTOR .+\n.+ command line +member\.put +account alice +done +-\n$/)
  assert.equal(await godwit(0, 'audit', '--actor', 'alice'), '')
  for (const time of ['soon', '2026-02-31', '2026-01-31T18:00'])
    assert.match(
      await godwit(2, 'audit', '--since', time),
      /' is not a duration such as 7d, a date/,
    )
  const reversed = await godwit(2, 'audit', '--since', '1d', '--until', '2d')
  assert.match(reversed, /^godwit: --until is before --since/)
  assert.match(await godwit(2, 'audit', '--action', 'sleep'), /must be one of session\.open/)
})
