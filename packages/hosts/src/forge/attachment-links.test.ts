import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contentTypeOf } from '../../../lib/src/content-types.ts'
import { fileNameIn } from '../http/open-file.ts'
import { linkedAttachments, rewriteAttachmentLinks } from './attachment-links.ts'
import { fileName } from './records/file-records.ts'

const ONE = '0f0f0f0f-0000-4000-8000-000000000001'
const TWO = '0f0f0f0f-0000-4000-8000-000000000002'

describe('links to attachments', () => {
  const forge = 'https://git.example.com/git'
  const rewrite = (body: string) =>
    rewriteAttachmentLinks(body, forge, (uuid) =>
      uuid === ONE ? `https://new/${uuid}` : undefined,
    )

  it('are found in every form, each once, with their names', () => {
    const body = [
      `![shot.png](/attachments/${ONE}) and again /attachments/${ONE}`,
      `<img src="${forge}/attachments/${TWO}">`,
    ].join('\n')
    assert.deepEqual(linkedAttachments(body, forge), [
      { uuid: ONE, name: 'shot.png' },
      { uuid: TWO, name: '' },
    ])
  })

  it('are rewritten in every form, and other links are not', () => {
    const forms = [
      `(/attachments/${ONE})`,
      `(${forge}/attachments/${ONE})`,
      `(/git/attachments/${ONE})`,
      `(/octo/widgets/attachments/${ONE.toUpperCase()})`,
      `(${forge}/octo/widgets/attachments/${ONE})`,
    ]
    for (const form of forms) assert.equal(rewrite(form), `(https://new/${ONE})`, form)
    const others = [
      `(/attachments/${TWO})`,
      `(https://elsewhere.example/attachments/${ONE})`,
      `(/attachments/${ONE}0)`,
      `(/attachments/not-one)`,
    ]
    for (const other of others) assert.equal(rewrite(other), other)
  })
})

describe('names of files', () => {
  it('have no slashes and a limited length', () => {
    assert.equal(fileName('../../etc/passwd'), '.._.._etc_passwd')
    assert.equal(fileName('a\nb\u202ec.png'), 'a_b_c.png')
    assert.equal(fileName('..'), 'file')
    assert.equal(fileName(''), 'file')
    const long = fileName(`${'ä'.repeat(300)}.png`)
    assert.ok(Buffer.byteLength(long) <= 200 && long.endsWith('.png'))
  })

  it('determine the content type', () => {
    assert.equal(contentTypeOf('A.PNG'), 'image/png')
    assert.equal(contentTypeOf('noidea'), 'application/octet-stream')
  })
})

describe('the name of a download', () => {
  const utf8 = Buffer.from('pic ü.png').toString('latin1')
  for (const [disposition, name] of [
    [`inline; filename="${utf8}"`, 'pic ü.png'],
    ['attachment; filename="a "b".zip"', 'a "b".zip'],
    ['attachment; filename="a \\"b\\".zip"', 'a "b".zip'],
    [`attachment; filename="_.png"; filename*=UTF-8''pic%20%C3%BC.png`, 'pic ü.png'],
    [`attachment; filename*=UTF-8''%FF%ZZ`, '\ufffd%ZZ'],
    ['attachment; filename=plain.txt; size=3', 'plain.txt'],
    ['inline', undefined],
    ['inline; filename=""', undefined],
    ['', undefined],
  ])
    it(`is ${name} in ${disposition}`, () => assert.equal(fileNameIn(disposition!), name))
})
