import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { needsChromium, visit } from '../support/browser.ts'
import { arrived, part } from '../support/dashboard.ts'
import { gitHost } from '../support/git-host.ts'
import { startService } from '../support/service.ts'

const run = promisify(execFile)

test(
  'an owner goes from their own migrations to those of an organization, and back',
  needsChromium,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    for (const name of ['alice/own', 'octo/engine', 'octo/kit', 'bob/own'])
      await host.repository(name, { files: { a: '1' } })
    await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob member\n')
    const service = await startService(t, { repositories: host.root })
    const [alice, bob] = [await service.token('alice'), await service.token('bob')]

    const page = await visit(t, service.url, { token: alice })
    await page.getByRole('button', { name: 'Migrations of alice' }).click()
    await page.getByRole('menuitemradio', { name: 'octo' }).click()
    await arrived(page, 'Migrations of octo')
    await page.getByRole('link', { name: 'New migration' }).click()
    await arrived(page, 'New migration of octo')
    const picker = part(page, 'Repositories')
    await picker.getByRole('checkbox', { name: 'octo/kit' }).check()
    assert.equal(await picker.getByRole('checkbox', { name: 'alice/own' }).count(), 0)
    await picker.getByRole('searchbox').fill('engine')
    await picker.getByRole('checkbox', { name: 'octo/engine' }).check()
    await page.getByRole('button', { name: 'Start with 2 repositories' }).click()
    await arrived(page, 'Migration 1')
    assert.match(page.url(), /#\/orgs\/octo\/migrations\/1$/)
    await page.getByText('The archive is ready').waitFor()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByRole('menuitem', { name: 'Status' }).click()
    await page.getByText('Copied').first().waitFor()
    const command = (await page.evaluate('navigator.clipboard.readText()')) as string
    const { stdout } = await run('bash', ['-c', command], {
      env: { PATH: process.env.PATH, GODWIT_TOKEN: alice },
    })
    assert.equal((JSON.parse(stdout) as { owner: { login: string } }).owner.login, 'octo')

    await page.getByRole('link', { name: 'Migrations of octo' }).click()
    await page.getByRole('link', { name: 'Migration 1' }).waitFor()
    await page.getByRole('button', { name: 'Migrations of octo' }).click()
    await page.getByRole('menuitemradio', { name: 'alice (you)' }).click()
    await arrived(page, 'Migrations')
    await page.getByText('No migrations yet').waitFor()

    const other = await visit(t, `${service.url}/#/orgs/octo/migrations/1`, {
      token: bob,
      expected: /404/,
    })
    await arrived(other, 'Not found')
    await other.goto(`${service.url}/#/`)
    await arrived(other, 'Migrations')
    assert.equal(await other.getByRole('button', { name: /^Migrations of/ }).count(), 0)
  },
)
