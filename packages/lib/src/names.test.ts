import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  invalidNameReason,
  isEmail,
  isForeignName,
  isFullName,
  isName,
  MAX_NAME_LENGTH,
  toForeignName,
} from './names.ts'

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

test('names of other hosts are any text that means nothing else in a URL, a line or a spreadsheet', () => {
  const names = [
    'a',
    '-a-',
    '.github',
    '_',
    '~alice',
    'renovate[bot]',
    'John Doe',
    'Jürgen',
    "O'Neil",
  ]
  for (const name of [...names, 'dan@old.example', 'user+tag', '17'])
    assert.ok(isForeignName(name), name)
  const refused = [
    '',
    '.',
    '..',
    'a\nb',
    'a\rb',
    'a\tb',
    'a\0',
    'a\u2028b',
    'a\u202eb',
    ' a',
    'a ',
    'a  b',
  ]
  refused.push(
    '=1+1',
    '+a',
    '@a',
    "'a",
    'a,b',
    'a;b',
    'a:b',
    'a"b',
    'a/b',
    'a\\b',
    'a#b',
    'a?b',
    'a%0ab',
  )
  refused.push('＝a', '\u212aevin', 'a\ud800', 'n'.repeat(256))
  for (const name of refused) assert.equal(isForeignName(name), false, JSON.stringify(name))
})

test('a text becomes a name of another host by leaving out what it may not have', () => {
  for (const name of ['John Doe', 'n'.repeat(255)]) assert.equal(toForeignName(name), name)
  assert.equal(toForeignName('=HYPERLINK("x")\nbob,admin '), 'HYPERLINK( x ) bob admin')
  assert.equal(toForeignName('n'.repeat(300))?.length, 127)
  for (const text of ['', '\n', '..', '=+@']) assert.equal(toForeignName(text), undefined)
})

test('an e-mail address has no spaces, separators or line breaks', () => {
  for (const text of ['a@b', 'a.b+c@example.com']) assert.ok(isEmail(text), text)
  for (const text of ['', 'a', '@b', 'a@', 'a@b\n', 'a b@c', 'a@b,c', 'a@b;c'])
    assert.equal(isEmail(text), false, JSON.stringify(text))
})
