import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { diffLines } from '../../records/diff-hunk.ts'
import { findLine, lineCode, rewriteSuggestions, textPosition } from './write-reviews.ts'

const DIFF = [
  '@@ -1,3 +1,3 @@ class A',
  ' one',
  '-two',
  '+TWO',
  ' three',
  '@@ -10,2 +10,3 @@',
  ' ten',
  '+ten and a half',
  ' eleven',
  '\\ No newline at end of file',
  '',
].join('\n')
const LINES = [...diffLines(DIFF)]
const PATHS = { old_path: 'a.txt', new_path: 'b.txt' }
const REFS = { base_sha: 'b', start_sha: 's', head_sha: 'h' }

test('every line of a diff has both running counters', () => {
  assert.deepEqual(
    LINES.map(({ type, oldLine, newLine, text }) => [type, oldLine, newLine, text]),
    [
      [null, 1, 1, 'one'],
      ['old', 2, 2, 'two'],
      ['new', 3, 2, 'TWO'],
      [null, 3, 3, 'three'],
      [null, 10, 10, 'ten'],
      ['new', 11, 11, 'ten and a half'],
      [null, 11, 12, 'eleven'],
    ],
  )
})

test('a line code has the digest of the new path and both counters, also for added and removed lines', () => {
  const code = (side: 'left' | 'right', line: number) =>
    lineCode(PATHS, findLine(LINES, side, line)!)
  assert.equal(code('right', 2), `${hash('sha1', 'b.txt')}_3_2`)
  assert.equal(code('left', 2), `${hash('sha1', 'b.txt')}_2_2`)
  assert.equal(code('right', 12), `${hash('sha1', 'b.txt')}_11_12`)
  assert.equal(
    lineCode({ old_path: 'a.txt', new_path: '' }, LINES[0]!),
    `${hash('sha1', 'a.txt')}_1_1`,
  )
  assert.equal(findLine(LINES, 'right', 5), undefined)
  assert.equal(findLine(LINES, 'left', null), undefined)
})

test('a position has the line of each side on which it exists, and a range if there are several', () => {
  const [one, two, TWO] = LINES as [never, never, never]
  const common = { ...REFS, ...PATHS, position_type: 'text' }
  assert.deepEqual(textPosition(REFS, PATHS, TWO), { ...common, old_line: null, new_line: 2 })
  assert.deepEqual(textPosition(REFS, PATHS, two), { ...common, old_line: 2, new_line: null })
  assert.deepEqual(textPosition(REFS, PATHS, TWO, one), {
    ...common,
    old_line: null,
    new_line: 2,
    line_range: {
      start: { line_code: `${hash('sha1', 'b.txt')}_1_1`, type: null, old_line: 1, new_line: 1 },
      end: { line_code: `${hash('sha1', 'b.txt')}_3_2`, type: 'new', old_line: null, new_line: 2 },
    },
  })
})

test('a suggestion says how many lines it replaces', () => {
  const lines = LINES.slice(2, 4)
  const text =
    'Better:\n```suggestion\nTwo\nThree\n```\nor\n~~~~suggestion\r\n```\r\n~~~~\n```ruby\nsuggestion\n```'
  assert.deepEqual(rewriteSuggestions(text, { lines, isOutdated: false }), {
    text: text
      .replace('```suggestion', '```suggestion:-1+0')
      .replace('~~~~suggestion', '~~~~suggestion:-1+0'),
    suggestions: ['Two\nThree\n', '```\n'].map((to, index) => ({
      relative_order: index,
      applied: false,
      from_content: 'TWO\nthree\n',
      to_content: to,
      lines_above: 1,
      lines_below: 0,
      outdated: false,
    })),
  })
  assert.deepEqual(rewriteSuggestions(text, { lines: [], isOutdated: false }), {
    text,
    suggestions: [],
  })
  assert.deepEqual(rewriteSuggestions(text, undefined), { text, suggestions: [] })
})
