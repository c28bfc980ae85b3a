import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invalidNameReason, isFullName, isName, MAX_NAME_LENGTH } from './names.ts'

test('a name has letters, digits, ".", "_" and "-", and fits a file name', () => {
  for (const name of [
    'a',
    'Hello-World',
    '.github',
    'a_b.c',
    '-',
    'git',
    'n'.repeat(MAX_NAME_LENGTH),
  ])
    assert.equal(invalidNameReason(name), undefined, name)
  for (const name of ['', '.', '..', 'a b', 'ä', 'a/b', 'a\n', 'x.git', 'x.GIT', '.git'])
    assert.equal(isName(name), false, JSON.stringify(name))
  assert.equal(
    invalidNameReason('n'.repeat(MAX_NAME_LENGTH + 1)),
    'its name has more than 251 characters',
  )
})

test('a full name is two names', () => {
  assert.ok(isFullName('octocat/Hello-World'))
  for (const text of ['', 'a', 'a/', '/b', 'a/b/c', '../b', 'a/..', 'a/b.git', 'a/b\n'])
    assert.equal(isFullName(text), false, JSON.stringify(text))
})
