import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { needsChromium, openPlainTab } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { GITEA, giteaServer } from '../support/gitea-server.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { startSharedService } from '../support/start-shared-service.ts'

const PASSWORD = 'Across-the-tidal-flats-7'

test('people of a real Gitea sign in with it, have one account, and the permissions that they have there', {
  skip: GITEA.needed.skip || needsChromium.skip,
}, async (t) => {
  const base = temporaryDirectory(t)
  const gitea = await giteaServer(base)
  t.after(gitea.stop)
  await gitea.addUser('ann')
  await gitea.run(['admin', 'user', 'change-password', '--username', 'ann', '--password', PASSWORD])
  await gitea.api('/admin/users/ann/repos', { name: 'site', auto_init: true, private: true })
  const port = await freePort()
  const own = `http://127.0.0.1:${port}`
  const application = await gitea.api<{ client_id: string; client_secret: string }>(
    '/user/applications/oauth2',
    { name: 'godwit', redirect_uris: [`${own}/session/oidc/callback`] },
  )
  const secretFile = join(base, 'oidc-secret')
  await writeFile(secretFile, application.client_secret, { mode: 0o600 })
  const discovery = await fetch(`${gitea.url}.well-known/openid-configuration`)
  const { issuer } = (await discovery.json()) as { issuer: string }
  const service = await startSharedService(t, {
    ...{ repositories: gitea.repositories, port },
    flags: [
      ...['--forge', gitea.url, '--forge-token-file', gitea.tokenFile],
      ...['--oidc-issuer', issuer, '--oidc-client-id', application.client_id],
      ...['--oidc-client-secret-file', secretFile, '--oidc-name', 'Gitea'],
    ],
  })

  const page = await openPlainTab(t)
  await page.goto(`${own}/#/new`)
  await page.getByRole('link', { name: 'Sign in with Gitea' }).click()
  await page.locator('#user_name').fill('ann')
  await page.locator('#password').fill(PASSWORD)
  await page.locator('#password').press('Enter')
  await page.locator('#authorize-app').click()
  await page.getByRole('button', { name: 'Signed in as ann' }).waitFor()
  await page.getByText('ann/site').waitFor()

  const accounts = JSON.parse(await service.godwit('account', 'list', '--json'))
  const names = accounts.map(({ login }: { login: string }) => login)
  assert.deepEqual(
    names.filter((login: string) => /ann/i.test(login)),
    ['ann'],
  )
})
