import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { html, passiveName, relativeUrl, safeName } from './html.ts'
import { type LinkResolver, renderMarkdown } from './markdown.ts'

const links: LinkResolver = {
  link: (href) => (/^(?:https?|mailto):/.test(href) ? href : undefined),
  image: (src) => (src.includes('/attachments/u1') ? '../files/1-shot.png' : undefined),
  item: (number, repository = 'alice/site') =>
    repository === 'alice/site' && number === 12 ? '12.html' : undefined,
}

const render = (text: string) => renderMarkdown(text, { links, headingLevel: 2 }).text.trim()
const renderDocument = (text: string) =>
  renderMarkdown(text, { links, headingLevel: 1, isDocument: true }).text.trim()

describe('Markdown', () => {
  test('has tables, task lists and strikethrough as on GitHub', () => {
    assert.match(
      render('| a | b |\n|---|--:|\n| 1 | 2 |'),
      /<th>a<\/th>\n<th class="right">b<\/th>[\s\S]*<td class="right">2<\/td>/,
    )
    assert.equal(
      render('- [ ] a\n- [x] b\n- c'),
      '<ul>\n<li class="task"><input type="checkbox" disabled aria-label="to do"> a</li>\n' +
        '<li class="task"><input type="checkbox" disabled aria-label="done" checked> b</li>\n<li>c</li>\n</ul>',
    )
    assert.equal(render('~~gone~~'), '<p><s>gone</s></p>')
  })

  test('keeps line breaks of comments, not those of documents', () => {
    assert.equal(render('a\nb'), '<p>a<br>\nb</p>')
    assert.equal(renderDocument('a\nb'), '<p>a\nb</p>')
  })

  test('links issues that are in the site, and leaves other numbers and logins as text', () => {
    assert.equal(
      render('see #12, alice/site#12, #13, bob/x#12, a#12, `#12`, @alice'),
      '<p>see <a href="12.html">#12</a>, <a href="12.html">alice/site#12</a>, #13, bob/x#12, a#12, ' +
        '<code>#12</code>, @alice</p>',
    )
    assert.equal(
      render('[a #12](https://example.com)'),
      '<p><a href="https://example.com">a #12</a></p>',
    )
  })

  test('skips no level of headings', () => {
    assert.equal(
      render('# a\n### b\n# c').replace(/ class="[^"]*"/g, ''),
      '<h3>a</h3>\n<h4>b</h4>\n<h3>c</h3>',
    )
  })

  test('gives headings of documents the ids that links lead to', () => {
    assert.match(
      renderDocument('# Install it!\n# Install it!'),
      /id="user-content-install-it"[\s\S]*id="user-content-install-it-1"/,
    )
    assert.doesNotMatch(render('# Install it!'), /id=/)
  })

  test('shows uploaded images, and never loads an image from elsewhere', () => {
    const local =
      '<a href="../files/1-shot.png"><img src="../files/1-shot.png" alt="a shot" loading="lazy"></a>'
    assert.equal(render('![a shot](https://host/attachments/u1)'), `<p>${local}</p>`)
    assert.equal(
      render('<img width="9" alt="a shot" src="https://host/attachments/u1" />'),
      `<p>${local}</p>`,
    )
    assert.equal(
      render('![logo](https://evil.example/x.png)'),
      '<p><a href="https://evil.example/x.png"><span class="image">logo</span></a></p>',
    )
    assert.equal(
      render('[![badge](https://ci.example/b.svg)](https://ci.example)'),
      '<p><a href="https://ci.example"><span class="image">badge</span></a></p>',
    )
  })

  test('shows the address of a relative link that leads nowhere', () => {
    assert.equal(render('[guide](docs/guide.md)'), '<p><span>guide (docs/guide.md)</span></p>')
  })

  test('leaves out comments and harmless tags, and understands links and line breaks', () => {
    assert.equal(render('<!-- a\n\nb -->\nseen <!-- c --> too'), '<p>seen  too</p>')
    assert.equal(render('<p align="center"><b>bold</b><br>next</p>'), '<p>bold<br>\nnext</p>')
    assert.equal(
      render('<a href="https://example.com"><img alt="x" src="y.png"></a>'),
      '<p><a href="https://example.com"><span class="image">x</span></a></p>',
    )
    assert.equal(render('`<b>`'), '<p><code>&lt;b&gt;</code></p>')
  })
})

describe('hostile text stays text', () => {
  const HOSTILE = [
    '<script>alert(1)</script>',
    '<svg onload=alert(1)>',
    '<iframe src="https://evil.example"></iframe>',
    '<style>*{display:none}</style>',
    '<img src="javascript:alert(1)">',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="https://ok" onclick="alert(1)">x</a>',
    '<img src="https://ok/x.png" onerror="alert(1)">',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](vbscript:msgbox)',
    '[x](file:///etc/passwd)',
    '[x](//evil.example/share)',
    '![x](data:image/svg+xml;base64,PHN2Zz4=)',
    '[x](https://ok "onmouseover=alert(1) \\"quoted\\"")',
    '"><script>alert(1)</script>',
    '```"><script>\ncode\n```',
    '<!-- --!><script>alert(1)</script>',
    '</div></article></main><h1>Fake</h1>',
    '[a]: javascript:alert(1)\n[a]',
    '&lt;script&gt; &#x3c;script&#x3e;',
  ]
  for (const text of HOSTILE)
    test(JSON.stringify(text), () => {
      for (const rendered of [render(text), renderDocument(text)]) {
        const tags = rendered.match(/<[^>]*>/g) ?? []
        const expected =
          /^<\/?(?:p|a|br|span|code|pre|b)\b(?: (?:href="https?:[^"]*"|class="[^"]*"))*>$/
        assert.deepEqual(
          tags.filter((tag) => !expected.test(tag)),
          [],
          rendered,
        )
      }
    })

  test('bidirectional controls and control characters are shown', () => {
    for (const text of ['a\u202eb', 'a&#x202e;b', '`a\u202eb`', '[a\u202eb](https://ok)'])
      assert.match(render(text), /a‹U\+202E›b/)
    assert.match(render('https://ok/%E2%80%AEx'), /^[^\u202e]*$/)
    assert.equal(html`<b>${'a\u2066<b\u0000\ud800'}</b>`.text, '<b>a‹U+2066›&lt;b\ufffd\ufffd</b>')
    assert.equal(render('\u200fשלום'), '<p>\u200fשלום</p>')
  })

  test('texts with many unclosed elements are rendered in little time', () => {
    const start = process.cpuUsage()
    for (const piece of ['<!--', '<!--\n\n', '<a href=x>', '<b', '#1 ', '<img '])
      render(piece.repeat(64_000 / piece.length))
    const { user } = process.cpuUsage(start)
    assert.ok(user < 8_000_000, `${user / 1000} ms`)
  })

  test('a text that is too long for the parser is shown as it is', () => {
    assert.match(render(`# x${' '.repeat(2 ** 18)}`), /^<pre># x/)
  })
})

describe('names of files', () => {
  test('stay inside the directory and are valid everywhere', () => {
    for (const name of [
      '..',
      '.',
      '',
      '/',
      '../x',
      '.git',
      'a/b',
      'C:\\x',
      'con?',
      'x\u202ey',
      'a\nb',
    ])
      assert.match(safeName(name), /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u, name)
    assert.ok(Buffer.byteLength(safeName('字'.repeat(300))) < 200)
  })

  test('have only an extension that no browser runs and no server interprets', () => {
    for (const [name, expected] of Object.entries({
      ...{ 'shot 1.PNG': 'shot_1.PNG', 'a.tar.gz': 'a_tar.gz', 'notes.txt': 'notes.txt' },
      ...{ 'x.php.png': 'x_php.png', 'x.html.txt': 'x_html.txt', '.htaccess': '_htaccess.txt' },
      ...{ README: 'README.txt', png: 'png.txt', 'x.': 'x_.txt' },
    }))
      assert.equal(passiveName(name), expected)
    const active =
      'svg HTML xhtml xml svgz ehtml rss atom rng xbl xsd rdf mathml mht hta pht wsdl js css wasm'
    for (const extension of active.split(' '))
      assert.equal(passiveName(`x.${extension}`), `x_${extension}.txt`)
  })

  test('are encoded in relative links', () => {
    assert.equal(relativeUrl('a/b/c.html', 'a/d e/ü.html'), '../d%20e/%C3%BC.html')
    assert.equal(relativeUrl('a/b.html', 'a/javascript:x'), 'javascript%3Ax')
    assert.equal(relativeUrl('a/b.html', 'a/c.html#d'), 'c.html#d')
  })
})
