import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseRepositories } from './choose-repositories.ts'

const folders = new Set(['Alice/site.git', 'Alice/site.wiki.git', 'corp/tool.git'])
const noPeople = new Map()

test('all repositories are chosen, without their wikis', () => {
  assert.deepEqual(
    [...chooseRepositories(folders, [], noPeople)],
    [
      ['alice/site', { fullName: 'Alice/site', owner: 'Alice', name: 'site' }],
      ['corp/tool', { fullName: 'corp/tool', owner: 'corp', name: 'tool' }],
    ],
  )
})

test('repositories are selected without regard to case, under the mapped owner', () => {
  const people = new Map([['alice', { login: 'anna', id: undefined }]])
  assert.deepEqual(
    [...chooseRepositories(folders, ['alice/SITE'], people).values()],
    [{ fullName: 'Alice/site', owner: 'anna', name: 'site' }],
  )
  assert.throws(
    () => chooseRepositories(folders, ['corp/tool', 'corp/other', 'x/y'], noPeople),
    /it does not hold corp\/other, x\/y/,
  )
})

test('names that the server refuses are listed together', () => {
  const bad = new Set([
    'admin/a.git',
    'corp/a..b.git',
    'corp/feed.rss.git',
    'a--b/c.git',
    'corp/ok.git',
  ])
  assert.throws(
    () => chooseRepositories(bad, [], noPeople),
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
  assert.equal(chooseRepositories(bad, ['corp/ok'], noPeople).size, 1)
})

test('two owners that are mapped to one account cannot have the same repository', () => {
  const people = new Map([['alice', { login: 'corp', id: undefined }]])
  const twice = new Set(['Alice/tool.git', 'corp/tool.git'])
  assert.throws(
    () => chooseRepositories(twice, [], people),
    /Alice\/tool and corp\/tool would both/,
  )
})
