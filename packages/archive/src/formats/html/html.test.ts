import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Html, html, relativeUrl } from './html.ts'

test('a value cannot leave its attribute or its element', () => {
  const hostile = `" onclick="alert(1)" ' <script>&amp;`
  const escaped = '&quot; onclick=&quot;alert(1)&quot; &#39; &lt;script&gt;&amp;amp;'
  assert.equal(
    html`<a title="${hostile}">${[hostile, 7, null]}</a>`.text,
    `<a title="${escaped}">${escaped}7</a>`,
  )
  assert.equal(html`<p>${new Html('<b>')}</p>`.text, '<p><b></p>')
})

test('a path in a link is neither markup nor a scheme nor a query', () => {
  assert.equal(
    relativeUrl('a/index.html', 'a/javascript:x?y"<.txt#part'),
    'javascript%3Ax%3Fy%22%3C.txt#part',
  )
})
