import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortReason } from './describe-outcome.ts'

test('a reason is shortened to what happened', () => {
  const oid = 'a'.repeat(40)
  const reasons: [string, string][] = [
    [`objects/pack/pack-${oid}.pack: pack checksum mismatch`, 'pack is damaged'],
    [`packfile objects/pack/pack-${oid}.pack is far too short; bad tree`, 'pack is damaged'],
    [`objects/pack/pack-${oid}.idx: index checksum mismatch`, 'pack is damaged'],
    [`missing blob object '${oid}'`, 'objects are missing'],
    [`bad object ${oid}`, 'objects are missing'],
    [`Could not read ${oid}; revision walk setup failed`, 'objects are missing'],
    [`objects/aa/${'a'.repeat(38)}: inflate error`, 'an object is damaged'],
    [
      `lfs/objects/aa/bb/${oid}: the content does not match its LFS oid`,
      'an LFS object is damaged',
    ],
    ['HEAD is missing', 'refs are damaged'],
    ['refs/heads/main points to no object (broken ref)', 'refs are damaged'],
    [
      'it is a shallow clone, which has only a part of the history',
      'it is a shallow clone, which has only a part of the history',
    ],
    ['first message; second message', 'first message'],
    ['first line\nsecond line', 'first line'],
    [`${'word '.repeat(30)}end`, `${'word '.repeat(16).trim()}…`],
  ]
  for (const [reason, short] of reasons) assert.equal(shortReason(reason), short)
})
