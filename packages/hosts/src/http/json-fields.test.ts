import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as json from './json-fields.ts'

describe('times of a forge', () => {
  it('are converted to UTC', () => {
    const at = (time: string) => json.time({ at: time }, 'at')
    assert.equal(at('2024-03-01T20:30:00-05:00'), '2024-03-02T01:30:00Z')
    assert.equal(at('2024-03-02T03:30:00+02:00'), '2024-03-02T01:30:00Z')
    assert.equal(at('2024-03-02T01:30:00Z'), '2024-03-02T01:30:00Z')
  })

  it('are null if the forge does not know them', () => {
    for (const time of ['0001-01-01T00:00:00Z', '1970-01-01T01:00:00+01:00', 'soon', null])
      assert.equal(json.timeOrNull({ at: time }, 'at'), null)
  })
})
