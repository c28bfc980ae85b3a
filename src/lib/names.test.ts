import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFullName, isName, LONGEST_NAME, nameRefusal } from './names.ts'

test('a name has letters, digits, ".", "_" and "-", and fits a file name', () => {
  for (const name of ['a', 'Hello-World', '.github', 'a_b.c', '-', 'git', 'n'.repeat(LONGEST_NAME)])
    assert.equal(nameRefusal(name), undefined, name)
  for (const name of ['', '.', '..', 'a b', 'ä', 'a/b', 'a\n', 'x.git', 'x.GIT', '.git'])
    assert.equal(isName(name), false, JSON.stringify(name))
  assert.equal(nameRefusal('n'.repeat(LONGEST_NAME + 1)), 'its name has more than 251 characters')
})

test('a full name is two names', () => {
  assert.ok(isFullName('octocat/Hello-World'))
  for (const text of ['', 'a', 'a/', '/b', 'a/b/c', '../b', 'a/..', 'a/b.git', 'a/b\n'])
    assert.equal(isFullName(text), false, JSON.stringify(text))
})
