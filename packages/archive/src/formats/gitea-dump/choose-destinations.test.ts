import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseDestinations } from './choose-destinations.ts'

const noPeople = new Map()

test('every repository has a destination, under the mapped owner', () => {
  const people = new Map([['alice', { login: 'anna', id: undefined }]])
  assert.deepEqual(
    [...chooseDestinations(['Alice/site', 'corp/tool'], people)],
    [
      ['alice/site', { fullName: 'Alice/site', owner: 'anna', name: 'site' }],
      ['corp/tool', { fullName: 'corp/tool', owner: 'corp', name: 'tool' }],
    ],
  )
})

test('names that the server refuses are listed together', () => {
  const bad = ['admin/a', 'corp/a..b', 'corp/feed.rss', 'a--b/c', 'corp/ok']
  assert.throws(
    () => chooseDestinations(bad, noPeople),
    (error: Error) => {
      const lines = error.message.split('\n').slice(1)
      assert.deepEqual(
        lines.map((line) => line.slice(0, 40)),
        [
          '  admin/a: admin: the name is reserved (',
          '  corp/a..b: the name has ".." in it',
          '  corp/feed.rss: the name ends in a rese',
          '  a--b/c: a--b: the name has two of ".",',
        ],
      )
      return true
    },
  )
})

test('two owners that are mapped to one account cannot have the same repository', () => {
  const people = new Map([['alice', { login: 'corp', id: undefined }]])
  assert.throws(
    () => chooseDestinations(['Alice/tool', 'corp/tool'], people),
    /Alice\/tool and corp\/tool would both/,
  )
})
