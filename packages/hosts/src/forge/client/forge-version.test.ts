import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capabilitiesOf, parseVersion } from './forge-version.ts'

test('the kind of server and its capabilities are derived from the version', () => {
  const describe = (text: string) => {
    const version = parseVersion(text)
    const capabilities = version && capabilitiesOf(version)
    return (
      version && [
        version.kind,
        version.gitea.join('.'),
        capabilities?.timeline,
        capabilities?.issueAssets,
      ]
    )
  }
  assert.deepEqual(describe('1.15.11'), ['Gitea', '1.15', false, false])
  assert.deepEqual(describe('1.16.0'), ['Gitea', '1.16', true, false])
  assert.deepEqual(describe('1.17.0'), ['Gitea', '1.17', true, false])
  assert.deepEqual(describe('1.20.0-rc1'), ['Gitea', '1.20', true, true])
  assert.deepEqual(describe('1.26.0+dev-489-gc9a038bc4e'), ['Gitea', '1.26', true, true])
  assert.deepEqual(describe('7.0.3+gitea-1.21.11'), ['Forgejo', '1.21', true, true])
  assert.deepEqual(describe('11.0.1-105-abc+gitea-1.22.0'), ['Forgejo', '1.22', true, true])
  assert.deepEqual(describe('1.18.5-0'), ['Gitea', '1.18', true, false])
  assert.deepEqual(describe('2.0.0'), ['Gitea', '2.0', true, true])
  assert.equal(describe('development'), undefined)
})
