import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import { HostUnavailable } from '../host-errors.ts'
import { openForge } from './open-forge.ts'

test('refs or a diff whose connection breaks are reported as unavailable', async (t) => {
  const forge = await startForge()
  t.after(() => forge.stop())
  const bytes = Buffer.from('001e# service=git-upload-pack\n00000000')
  forge.faultFor = ({ path }) =>
    /info\/refs$|\.diff$/.test(path) ? { response: { bytes }, cut: true } : undefined
  const host = openForge({ url: forge.url, token: 'admin-token' })
  const repository = { owner: 'ann', name: 'many' }
  const isBroken = (error: unknown) =>
    error instanceof HostUnavailable && /^the connection to http.* broke: /.test(error.message)
  await assert.rejects(host.refs(repository, t.signal), isBroken)
  await assert.rejects(Array.fromAsync(host.pullDiff(repository, 1, t.signal)), isBroken)
})
