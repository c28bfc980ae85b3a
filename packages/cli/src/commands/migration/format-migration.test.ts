import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatForecast } from './format-migration.ts'

test('a forecast says how long the export takes', () => {
  const timeOf = (estimated_seconds: number) =>
    formatForecast({ repositories: [], bytes_to_write: 0, estimated_seconds })
  assert.equal(timeOf(0), '0 bytes to write, under 1 s; nothing was started')
  assert.equal(timeOf(90), '0 bytes to write, about 2 min; nothing was started')
})
