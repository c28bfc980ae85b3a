import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewriteForGitLab } from './rewrite-text.ts'

const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const HEX = UUID.replaceAll('-', '')
const UPLOADS = new Map([
  [HEX, { url: `/uploads/${HEX}/shot.png`, name: 'shot.png', isMedia: true }],
  ['files/77', { url: `/uploads/${'7'.repeat(32)}/log.txt`, name: 'log.txt', isMedia: false }],
])
const TARGETS = {
  isPull: (repository: string, number: number) =>
    (repository === 'alice/site' && number === 3) || (repository === 'corp/tools' && number === 8),
  upload: (key: string) => UPLOADS.get(key),
}
const rewrite = (text: string) => rewriteForGitLab(text, 'alice/site', TARGETS)

test('numbers of pull requests become references to merge requests', () => {
  for (const [before, after] of [
    ['#3, (#3) and #4', '!3, (!3) and #4'],
    ['GH-3 and GH-4', '!3 and #4'],
    ['Alice/Site#3 Corp/tools#8 corp/tools#3', 'Alice/Site!3 Corp/tools!8 corp/tools#3'],
    ['&#3; a#3 https://x.example/y#3 ##3 #3a', '&#3; a#3 https://x.example/y#3 ##3 #3a'],
  ] as const)
    assert.equal(rewrite(before), after)
})

test('links to attachments become uploads', () => {
  const [url, path] = [
    `https://github.com/user-attachments/assets/${UUID}`,
    `/uploads/${HEX}/shot.png`,
  ]
  const file = `/uploads/${'7'.repeat(32)}/log.txt`
  for (const [before, after] of [
    [`![a](${url})`, `![a](${path})`],
    [`<img src="${url.toUpperCase().replace('HTTPS', 'https')}">`, `<img src="${path}">`],
    [`![a](/attachments/${UUID})`, `![a](${path})`],
    [`see ${url} there`, `see ![shot.png](${path}) there`],
    ['[log](https://github.com/alice/site/files/77/log.txt)', `[log](${file})`],
    [`[a]: ${url}`, `[a]: ${path}`],
    [`${UUID} and ${url.replace('0f8f', '1f8f')}`, `${UUID} and ${url.replace('0f8f', '1f8f')}`],
  ] as const)
    assert.equal(rewrite(before), after)
})

test('code stays as it is', () => {
  const code = `\`#3\` and\n\`\`\`\n#3 https://x.example/${UUID}\n\`\`\`\n`
  assert.equal(rewrite(`${code}#3`), `${code}!3`)
})

test('the time for a hostile text grows with its length only', () => {
  for (const text of [
    `https://x/${UUID}`.repeat(20_000),
    `${UUID}`.repeat(20_000),
    '/#'.repeat(300_000),
  ]) {
    const start = performance.now()
    rewrite(text)
    assert.ok(performance.now() - start < 3000)
  }
})
