import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewriteFromGitLab } from './rewrite-text.ts'

const NAMES = {
  ...{ fullName: 'alice/tool', offset: 2, mergeRequests: new Set([1]), uploads: new Map() },
  ...{ labels: new Set(['bug', 'v1.0']), milestones: new Map([['v2.0', 'v2.0']]) },
  logins: new Map([['ann.b', 'anna']]),
}

test('punctuation after a reference is not part of it', () => {
  for (const [before, after] of [
    ['Thanks, @ann.b. @ann.b, @ann.b...', 'Thanks, @anna. @anna, @anna...'],
    ['Is it ~bug? ~v1.0. ~bug: yes', 'Is it `bug`? `v1.0`. `bug`: yes'],
    ['In %v2.0. See !1.', 'In v2.0. See #3.'],
  ] as const)
    assert.equal(rewriteFromGitLab(before, NAMES, new Map()), after)
})

const SECRET = 'a1b2c3d4'.repeat(4)
const FILE = `uploads/${SECRET}/pic.png`
const NEW = 'https://gitlab.invalid/user-attachments/assets/1'
const WITH_FILE = { ...NAMES, uploads: new Map([[FILE, NEW]]) }

test('a link to an upload is replaced from its beginning, and one to a file elsewhere is kept', () => {
  for (const [before, after] of [
    [`![p](/${FILE}) /${FILE}`, `![p](${NEW}) ${NEW}`],
    [`[a](https://gitlab.example.com:8443/g/sub.group/tool/${FILE})`, `[a](${NEW})`],
    [`[b](/-/project/12/${FILE}) <a href="/g/tool/${FILE}">`, `[b](${NEW}) <a href="${NEW}">`],
    [`[c]:/${FILE}\n[d]: http://h/${FILE}`, `[c]:${NEW}\n[d]: ${NEW}`],
    [`[e](g/tool/${FILE}) ../${FILE}`, `[e](g/tool/${FILE}) ../${FILE}`],
    ...['https://h/g/', '/g/', '/'].map((start) => {
      const other = `[f](${start}${FILE.replace('pic', 'other')})`
      return [other, other] as const
    }),
  ] as const)
    assert.equal(rewriteFromGitLab(before, WITH_FILE, new Map()), after)
})

test('a number becomes text only if it is now that of a merge request', () => {
  for (const [before, after] of [
    ['See #3 and Tool#3.', 'See issue 3 and alice/tool 3.'],
    ['color #123456 and #333, #2, tool#9', 'color #123456 and #333, #2, alice/tool#9'],
  ] as const)
    assert.equal(rewriteFromGitLab(before, NAMES, new Map([['tool', NAMES]])), after)
})

const LONG = 16e6

test('texts made of parts of links take linear time, and no memory for each part', () => {
  for (const part of [
    'a',
    'https://',
    '/a',
    '/uploads/',
    'https://h/',
    ',/a',
    ':/',
    `/${FILE.slice(0, -1)}`,
  ])
    rewriteFromGitLab(`!1 ${part.repeat(LONG / part.length)}`, WITH_FILE, new Map())
})
