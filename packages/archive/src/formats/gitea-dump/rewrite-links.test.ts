import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LinkTargets, restoreAttachmentUrls, rewriteLinks } from './rewrite-links.ts'

const SHA = '0123456789abcdef0123456789abcdef01234567'

const UUID = '3f0b9a52-7c3e-4f7d-9d43-0a6c2f0f8a11'

const targets: LinkTargets = {
  byUrl: new Map([
    ['https://github.com/alice/site', 'anna/site'],
    ['https://github.com/org/tool', 'org/tool'],
  ]),
  longestUrl: 'https://github.com/alice/site'.length,
  renamed: new Map([['alice/site', 'anna/site']]),
  attachments: new Map([[UUID, 'https://old.example.com/attachments/1']]),
  kindOf: (fullName, number) =>
    number > 20 ? undefined : number === 3 && fullName === 'org/tool' ? 'pull_request' : 'issue',
  base: '/',
}

/** Returns a text on the old host and on the server. The path of the URL is the same there, but for the new owner. */
function withBase(text: (base: string) => string): [before: string, after: string] {
  return [text('https://github.com'), text('').replaceAll('/alice/', '/anna/')]
}

/** Texts in issues of org/tool. */
const CASES: [name: string, before: string, after: string][] = [
  ['a number alone', 'see #12.', 'see #12.'],
  ['a short reference to a repository that is renamed', '(alice/site#12)', '(anna/site#12)'],
  ['a short reference to a commit', `Alice/Site@${SHA}`, `anna/site@${SHA}`],
  [
    'a short reference to a repository that is not renamed',
    'bob/site#12 org/tool#2',
    'bob/site#12 org/tool#2',
  ],
  [
    'text that only resembles a short reference',
    'malice/site#12 x/alice/site#1',
    'malice/site#12 x/alice/site#1',
  ],
  ['an issue of the same repository', 'https://github.com/org/tool/issues/12.', '#12.'],
  ['an issue of another repository', 'https://github.com/Alice/site/issues/12', 'anna/site#12'],
  [
    'a comment on an issue of another repository',
    'https://github.com/alice/site/issues/12#issuecomment-7',
    'anna/site#12',
  ],
  ['a pull request', 'https://github.com/org/tool/pull/3/files', '#3'],
  [
    'a link with a text',
    '[that](https://github.com/org/tool/pull/3) and <https://github.com/alice/site/pull/4>',
    '[that](/org/tool/pulls/3) and </anna/site/issues/4>',
  ],
  ['a link in HTML', '<a href="https://github.com/alice/site">', '<a href="/anna/site">'],
  ['a commit', `https://github.com/org/tool/commit/${SHA}`, SHA],
  [
    'a commit of another repository',
    `https://github.com/alice/site/commit/${SHA}`,
    `anna/site@${SHA}`,
  ],
  [
    'a file',
    '[f](https://github.com/org/tool/blob/main/a/b.ts#L3)',
    '[f](/org/tool/src/branch/main/a/b.ts#L3)',
  ],
  [
    'a file in the form of Gitea',
    ...withBase((base) => `[f](${base}/org/tool/src/branch/a%2Fb/c.ts#L3-L5)`),
  ],
  [
    'a commit and a tag in the form of Gitea',
    ...withBase(
      (base) => `<${base}/org/tool/src/commit/${SHA}/c.ts> <${base}/org/tool/raw/tag/v1/c.ts>`,
    ),
  ],
  [
    'other pages of files',
    ...withBase(
      (base) =>
        `[r](${base}/alice/site/raw/branch/main/a.png) [c](${base}/alice/site/commits/branch/main)`,
    ),
  ],
  ['a comparison', ...withBase((base) => `[d](${base}/org/tool/compare/main...feature/x)`)],
  ['a commit of a pull request', `https://github.com/org/tool/pulls/3/commits/${SHA}`, '#3'],
  [
    'a raw file',
    '[f](https://github.com/org/tool/raw/main/a.ts)',
    '[f](/org/tool/raw/branch/main/a.ts)',
  ],
  [
    'a release',
    'https://github.com/org/tool/releases/tag/v1',
    '[https://github.com/org/tool/releases/tag/v1](/org/tool/releases/tag/v1)',
  ],
  [
    'pages that are not in the archive',
    'https://github.com/org/tool/issues/21 https://github.com/org/tools/issues/1 https://github.com/org/tool/actions',
    'https://github.com/org/tool/issues/21 https://github.com/org/tools/issues/1 https://github.com/org/tool/actions',
  ],
  [
    'code',
    'a `alice/site#1` b\n```\nhttps://github.com/org/tool/issues/12\n```\nalice/site#1',
    'a `alice/site#1` b\n```\nhttps://github.com/org/tool/issues/12\n```\nanna/site#1',
  ],
  ['a fence that is left open', '```\nalice/site#1', '```\nalice/site#1'],
  [
    'a fence that only as long a one closes',
    '````\nalice/site#1\n```\nalice/site#1\n ````` \nalice/site#1',
    '````\nalice/site#1\n```\nalice/site#1\n ````` \nanna/site#1',
  ],
  [
    'tildes',
    '~~~\nalice/site#1\n```\n~~~\nalice/site#1',
    '~~~\nalice/site#1\n```\n~~~\nanna/site#1',
  ],
  [
    'code that only the same number of backticks ends',
    '``alice/site#1 ` alice/site#1`` alice/site#1 ``` alice/site#1',
    '``alice/site#1 ` alice/site#1`` anna/site#1 ``` anna/site#1',
  ],
  [
    'inline code of three backticks at the start of a line',
    '```alice/site#1``` alice/site#1\nalice/site#1',
    '```alice/site#1``` anna/site#1\nanna/site#1',
  ],
  [
    'definitions of links in Markdown',
    '[1]: https://github.com/alice/site/issues/1\n[2]:\n  https://github.com/alice/site/issues/2',
    '[1]: /anna/site/issues/1\n[2]:\n  /anna/site/issues/2',
  ],
  ['the URL of a clone', '<https://github.com/Alice/Site.git>', '</anna/site>'],
  ['a lone backtick', '` alice/site#1', '` anna/site#1'],
]

for (const [name, before, after] of CASES)
  test(name, () => assert.equal(rewriteLinks(before, 'org/tool', targets), after))

test('links are complete if the URL of the server is known', () => {
  const base = 'https://git.example.com/sub/'
  assert.equal(
    rewriteLinks('[x](https://github.com/alice/site/issues/1)', 'org/tool', { ...targets, base }),
    '[x](https://git.example.com/sub/anna/site/issues/1)',
  )
})

/** Texts without links that would take hours with an algorithm of quadratic time. */
const HOSTILE: [name: string, text: string][] = [
  ['backticks that nothing closes', `/${'`'.repeat(1e6)}${'a'.repeat(2e6)}`],
  [
    'backticks of every number',
    `/${Array.from({ length: 2000 }, (_, n) => '`'.repeat(n + 1)).join('a')}`,
  ],
  ['pairs of backticks', '`/` '.repeat(1e6)],
  ['lines that almost close a fence', `\`\`\`\n${`${'`~'.repeat(1e6)}/ \n`.repeat(2)}`],
  ['spaces that close no fence', `\`\`\`\n${`\`\`\`${' '.repeat(1e6)}/\n`.repeat(3)}`],
  ['many URLs', 'https://example.com/ '.repeat(2e5)],
  ['a URL of slashes', `https://example.com${'/'.repeat(3e6)}`],
  ['a URL with many punctuation marks', `https://example.com/${'.'.repeat(3e6)}a`],
  ['spaces before URLs', `${' '.repeat(1e6)}https://example.com/`.repeat(3)],
  ['a name without an end', `${'a'.repeat(2e6)}/${'b'.repeat(2e6)}`],
]

// assert.equal would compute a diff of megabytes.
for (const [name, text] of HOSTILE)
  test(`rewriting takes linear time: ${name}`, () =>
    assert.ok(rewriteLinks(text, 'org/tool', targets) === text))

test('an attachment gets its address on the old host, also in code', () => {
  const invented = `https://github.com/user-attachments/assets/${UUID.toUpperCase()}`
  const other = 'https://github.com/user-attachments/assets/00000000-0000-0000-0000-000000000000'
  const old = 'https://old.example.com/attachments/1'
  assert.equal(
    restoreAttachmentUrls(`![a](${invented}) \`${invented}\` ${invented}. ${other}`, targets),
    `![a](${old}) \`${old}\` ${old}. ${other}`,
  )
})
