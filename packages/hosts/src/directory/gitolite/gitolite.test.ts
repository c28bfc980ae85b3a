import assert from 'node:assert/strict'
import { chmod, mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { asNobody } from '../../../../../test/support/as-nobody.ts'
import { gitHost } from '../../../../../test/support/git-host.ts'
import { Unreadable } from '../../../../git/src/unreadable.ts'
import type { ListedEntry } from '../../source.ts'
import { gitDirectory } from '../git-directory.ts'

const CONF = `
$data_version = '3.2';
%repos = ('team/site' => {'alice' => [[1, 'RW+', 'refs/.*']]});
`

/** Creates a gitolite host with the repository team/site, on which alice has RW+. */
async function setUpGitolite(t: TestContext) {
  const host = await gitHost()
  t.after(host.remove)
  const home = join(host.root, '..')
  const admin = join(home, '.gitolite')
  const rc = join(home, '.gitolite.rc')
  const hook = join(admin, 'hooks/common/update')
  const dir = await host.repository('team/site')
  await mkdir(join(admin, 'conf'), { recursive: true })
  const conf = join(admin, 'conf/gitolite.conf-compiled.pm')
  await writeFile(conf, CONF)
  await writeFile(rc, '%RC = (UMASK => 0077);\n')
  await mkdir(dirname(hook), { recursive: true })
  await writeFile(hook, '')
  await mkdir(join(dir, 'hooks'), { recursive: true })
  await symlink(hook, join(dir, 'hooks/update'))
  await chmod(home, 0o755)
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const list = (): Promise<ListedEntry[]> => Array.fromAsync(source.list())
  return { conf, dir, rc, source, list }
}

test('a user with RW+ is a collaborator with admin permission', async (t) => {
  const { source } = await setUpGitolite(t)
  const { collaborators } = await source.metadata((await source.find('team', 'site'))!)
  assert.deepEqual(collaborators, [{ login: 'alice', permission: 'admin' }])
})

test('a creator whose name is no pattern gives the repository no other name', async (t) => {
  const { conf, dir, source } = await setUpGitolite(t)
  const rule = "'CREATORteam/site' => {'bob' => [[2, 'R', 'refs/.*']]}"
  await writeFile(conf, CONF.replace(/\}\);\n$/, `}, ${rule});\n`))
  await writeFile(join(dir, 'gl-creator'), 'a++\n')
  const { collaborators } = await source.metadata((await source.find('team', 'site'))!)
  assert.ok(!collaborators?.some(({ login }) => login === 'bob'))
  assert.ok(collaborators?.some(({ login }) => login === 'alice'))
})

test('a repository whose update hook cannot be read is withdrawn, with the reason', async (t) => {
  const { dir, list } = await setUpGitolite(t)
  await chmod(join(dir, 'hooks'), 0)
  const entries = await asNobody(list)
  await chmod(join(dir, 'hooks'), 0o755)
  const reason = "gitolite's permissions cannot be read: hooks/update: permission denied"
  const hiddenRepositories = { fullName: 'team/site' }
  assert.deepEqual(entries, [
    { refused: { path: 'team/site.git', hiddenRepositories, reason, isWithdrawn: true } },
  ])
})

test('a repository whose rules are too large to be read is withdrawn, with the reason', async (t) => {
  const { conf, dir, list } = await setUpGitolite(t)
  await writeFile(conf, `${CONF}%split_conf = ('team/site' => 1);\n`)
  await writeFile(join(dir, 'gl-conf'), '')
  await truncate(join(dir, 'gl-conf'), 65 * 1024 * 1024)
  const reason = "gitolite's permissions cannot be read: too large"
  const hiddenRepositories = { fullName: 'team/site' }
  assert.deepEqual(await list(), [
    { refused: { path: 'team/site.git', hiddenRepositories, reason, isWithdrawn: true } },
  ])
})

test('an unreadable .gitolite.rc is an error that names the file', async (t) => {
  const { rc, list } = await setUpGitolite(t)
  await chmod(rc, 0)
  const error = await asNobody(() => list().catch((error: unknown) => error))
  assert.ok(error instanceof Unreadable)
  const message = "gitolite's permissions cannot be read: .gitolite.rc: permission denied"
  assert.equal(error.message, message)
})
