import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statesBefore, unfinishedStates } from './migration.ts'

test('the state of a migration never goes back', () => {
  assert.deepEqual(statesBefore('pending'), [])
  assert.deepEqual(statesBefore('exporting'), ['pending'])
  assert.deepEqual(statesBefore('exported'), ['exporting'])
  assert.deepEqual(statesBefore('failed'), ['pending', 'exporting'])
  assert.deepEqual(unfinishedStates, ['pending', 'exporting'])
})
