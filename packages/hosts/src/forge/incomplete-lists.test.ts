import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import { fillForge } from '../../../../test/support/forge/filled-forge.ts'
import type { ForgeResponse } from '../../../../test/support/forge/responses.ts'
import { HostRequestFailed } from '../host-errors.ts'
import { connectForge } from './connect-forge.ts'

const { signal } = new AbortController()

/** An incomplete list that is used as complete would hide repositories and revoke permissions. */
test('incomplete lists of repositories and permissions are refused', async (t) => {
  const server = await startForge()
  t.after(() => server.stop())
  fillForge(server)
  const forge = connectForge({ url: server.url, token: 'admin-token', pauseMs: 1 })
  const lists = {
    '/repos/search': () => Array.fromAsync(forge.forgeRepositories.all(signal)),
    '/orgs/octo/repos': () => forge.forgeRepositories.ofOrganization('octo', signal),
    '/orgs': () => forge.forgeRepositories.organizations(signal),
    '/user/repos': () => forge.readPermissions({ login: 'ann', id: null }, signal),
    '/user/teams': () => forge.readPermissions({ login: 'ann', id: null }, signal),
  }
  const entriesIn = (body: unknown) =>
    Array.isArray(body) ? body : (body as { data: unknown[] }).data
  const damages = {
    'an entry is null': ({ body, ...given }: ForgeResponse) => {
      const entries = [null, ...entriesIn(body).slice(1)]
      return { ...given, body: Array.isArray(body) ? entries : { data: entries } }
    },
    'more are counted': (given: ForgeResponse) => ({ ...given, headers: { 'x-total-count': '9' } }),
  }
  for (const [path, list] of Object.entries(lists))
    for (const [name, damage] of Object.entries(damages)) {
      server.faultFor = () => undefined
      await list()
      server.faultFor = (request) =>
        request.path === `/api/v1${path}` ? { change: damage } : undefined
      await assert.rejects(list(), (error) => {
        assert.ok(error instanceof HostRequestFailed, `${path}: ${name}: ${error}`)
        return /\d of its entries cannot be read$/.test(error.message)
      })
    }
})

test('members of an organization that the forge does not send are counted in the notes', async (t) => {
  const server = await startForge()
  t.after(() => server.stop())
  fillForge(server)
  const { discussions } = connectForge({ url: server.url, token: 'admin-token', pauseMs: 1 })
  assert.deepEqual((await discussions.owner('octo', signal)).notes, [])
  server.faultFor = ({ path }) =>
    path.endsWith('/orgs/octo/members')
      ? { change: (given) => ({ ...given, body: [null, ...(given.body as []).slice(1)] }) }
      : undefined
  const { notes } = await discussions.owner('octo', signal)
  assert.match(String(notes), /^orgs\/octo\/members: 1 entry is missing/)
})
