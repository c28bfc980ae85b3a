import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewriteOutsideCode } from './find-code.ts'

/** Texts in which only PROSE is outside code. */
const TEXTS = {
  'inline code': 'PROSE `code` PROSE ``code ` code`` PROSE',
  'backticks in different paragraphs': '5` PROSE\n\nPROSE\n \nPROSE 6`',
  'inline code on two lines': 'PROSE `code\ncode` PROSE',
  'a fence in a quote': '> PROSE\n> ```\n> code\n>\n> code\n> ```\n> PROSE',
  'a fence in a list': '1. PROSE\n   - ```js\n     code\n\n     code\n     ```\n   PROSE',
  'a fence without an end': 'PROSE\n~~~\ncode\n\ncode',
  'lines of Windows': 'PROSE\r\n```\r\ncode\r\n```\r\nPROSE `x`\r\n\r\n    code\r\nPROSE',
  'indented code': 'PROSE\n    PROSE\n\n    code\n\n\tcode\nPROSE',
  'indented code after a fence': '```\ncode\n```\n    code\nPROSE',
  'indented paragraphs of a list':
    '- PROSE\n\n    PROSE\n\n  PROSE\n    PROSE\nPROSE\n\nPROSE\n\n    code',
  'a list within a list':
    '1. PROSE\n\n   PROSE:\n\n    - PROSE\n\n      PROSE\n\nPROSE\n\n    code',
  'fences of other depth in a fence': '```\ncode\n    ```\ncode\n> ```\ncode\n```\nPROSE',
  'a fence that ends with its quote': '> ```\n> code\n\nPROSE\n\n> PROSE\n> ~~~\n> code\nPROSE',
  'a fence that ends with its item': '- ```sh\n  code\n- PROSE\n\n  ```\n  code\n\n  code\nPROSE',
  'preformatted text':
    'PROSE\n<pre>code</pre>\n<PRE lang="c">\ncode\n\ncode\n</PRE>\nPROSE <pretty>',
}

for (const [name, text] of Object.entries(TEXTS))
  test(`${name}: only prose is rewritten`, () => {
    const seen: string[] = []
    const rewritten = rewriteOutsideCode(text, (prose) => {
      seen.push(prose)
      return prose.toLowerCase()
    })
    assert.doesNotMatch(seen.join('\n'), /code/)
    assert.equal(rewritten, text.replaceAll('PROSE', 'prose'))
  })
