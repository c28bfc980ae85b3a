import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/archive-samples.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { gitDirectory } from './git-directory.ts'
import { parseMembers } from './members-file.ts'

test('a line is a login and a role; an invalid line is a warning with its number', () => {
  const { members, warnings } = parseMembers(
    '\uFEFF# who may\r\nalice owner\r\n\n  Bob\tMEMBER # since May\ncarol:owner\nbob owner\ndave\n../x owner\neve admin\nfay owner now\n',
    'octo/godwit-members',
  )
  assert.deepEqual(members, [
    { login: 'alice', role: 'owner' },
    { login: 'bob', role: 'owner' },
    { login: 'carol', role: 'owner' },
  ])
  assert.deepEqual(
    warnings.map(({ path }) => path),
    [7, 8, 9, 10].map((line) => `octo/godwit-members:${line}`),
  )
})

test('members are read only for the owner with exactly this name, and never through a link', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const file = (owner: string) => join(host.root, owner, 'godwit-members')
  const outside = join(await temporaryFolder(t), 'outside')
  await writeFile(outside, 'mallory owner\n')
  for (const owner of ['empty', 'linked', 'large', 'Octo']) await mkdir(join(host.root, owner))
  await host.repository('octo/tools')
  await writeFile(file('octo'), 'alice owner\n')
  await writeFile(file('Octo'), 'mallory owner\n')
  await writeFile(file('empty'), '')
  await symlink(outside, file('linked'))
  await writeFile(file('large'), 'x'.repeat(1024 * 1024 + 1))
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const rows = await Array.fromAsync(
    source.list((owner) => (/octo/i.test(owner) ? 'octo' : undefined)),
  )
  const configured = rows.flatMap((row) => ('members' in row ? row.members : []))
  const alice = { login: 'alice', role: 'owner' as const }
  assert.deepEqual(
    configured.map(({ owner, members }) => [owner, members]),
    [
      ['empty', []],
      ['large', undefined],
      ['linked', undefined],
      ['octo', [alice]],
    ],
  )
  assert.ok(rows.some((row) => 'refused' in row && row.refused.caseConflictWith === 'octo'))
  assert.deepEqual((await source.members('octo'))?.members, [alice])
  assert.equal(await source.members('nobody'), undefined)
})

test('the first of many invalid lines are warnings, and the others are counted', () => {
  const { warnings } = parseMembers('x\n'.repeat(500_000), 'acme/godwit-members')
  assert.equal(warnings.length, 101)
  assert.equal(warnings[100]!.path, 'acme/godwit-members: and 499,900 more of this kind')
})
