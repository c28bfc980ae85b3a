import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import licenses from 'spdx-license-list/full.js'
import { recogniseLicense } from './head-tree.ts'

const COMMON = [
  ...['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'GPL-2.0', 'GPL-3.0', 'LGPL-2.1'],
  ...['LGPL-3.0', 'AGPL-3.0', 'MPL-2.0', 'ISC', 'Unlicense', 'CC0-1.0', '0BSD', 'BSL-1.0', 'Zlib'],
  ...['EPL-2.0', 'EUPL-1.2', 'Artistic-2.0', 'MIT-0', 'OFL-1.1', 'WTFPL', 'CC-BY-4.0', 'NCSA'],
]

/** Common changes to the text of a licence. */
const AS_FOUND: Record<string, (text: string) => string> = {
  'as published': (text) => text,
  'with the holder filled in': filledIn,
  'with lines broken elsewhere': (text) => filledIn(text).replace(/(.{20,60}?) /g, '$1\n'),
  'with the line ends of Windows': (text) => filledIn(text).replaceAll('\n', '\r\n'),
  'indented under a heading': (text) =>
    `# License\n\n${filledIn(text).replace(/^/gm, '    ')}\n<!-- kept up to date by a robot -->\n`,
  'after several holders': (text) =>
    `Copyright © 1998-2024 Grace Hopper <grace@example.com>\nCopyright (c) 2001 Ada and others\n\n${text}`,
}

function filledIn(text: string): string {
  return text
    .replace(/<year>|\[yyyy\]|\[year\]/g, '2019-2024')
    .replace(
      /<(?:copyright holders?|owner|name of author)>|\[name of copyright owner\]/g,
      'Ada & Co',
    )
}

describe('recognising a licence', () => {
  for (const [how, change] of Object.entries(AS_FOUND)) {
    test(`common licences ${how}`, async () => {
      for (const id of COMMON) {
        const text = change(licenses[id]?.licenseText ?? '')
        assert.equal(await recogniseLicense(text), id)
      }
    })
  }

  test('terms without the appendix on how to apply them', async () => {
    for (const id of ['Apache-2.0', 'GPL-2.0', 'GPL-3.0', 'LGPL-2.1', 'AGPL-3.0']) {
      const [terms = ''] = licenses[id]!.licenseText.split('END OF TERMS AND CONDITIONS')
      assert.ok(terms.length < licenses[id]!.licenseText.length, id)
      assert.equal(await recogniseLicense(terms), id)
    }
  })

  test('the LGPL without the GPL that it extends, as in COPYING.LESSER', async () => {
    const [lesser = ''] = licenses['LGPL-3.0']!.licenseText.split(/^GNU GENERAL PUBLIC LICENSE/m)
    assert.ok(lesser.length < 10_000)
    assert.equal(await recogniseLicense(lesser), 'LGPL-3.0')
  })

  test('one id for each text: GitHub’s for the GNU licences, otherwise the shortest', async () => {
    assert.equal(await recogniseLicense(licenses['GPL-3.0-or-later']!.licenseText), 'GPL-3.0')
    assert.equal(await recogniseLicense(licenses['AGPL-3.0-only']!.licenseText), 'AGPL-3.0')
    const mpl = licenses['MPL-2.0-no-copyleft-exception']!.licenseText
    assert.equal(await recogniseLicense(mpl), 'MPL-2.0')
  })

  test('texts that are not a licence, or several', async () => {
    const text = (id: string) => licenses[id]!.licenseText
    for (const other of [
      '',
      'MIT',
      'See the README for the terms under which you may use this.',
      'All rights reserved. No part of this may be copied without our written consent. '.repeat(5),
      `${text('GPL-2.0')}\n\n${text('MPL-2.0')}`,
      readFileSync(import.meta.filename, 'utf8'),
    ]) {
      assert.equal(await recogniseLicense(other), null, other.slice(0, 60))
    }
  })

  test('the licences of installed packages are those that their authors declare', async () => {
    const top = join(import.meta.dirname, '../../../../../node_modules')
    let agreed = 0
    const wrong: string[] = []
    for (const file of globSync(join(top, '{*,@*/*}/LICENSE{,.md,.txt}'))) {
      const { license } = JSON.parse(readFileSync(join(dirname(file), 'package.json'), 'utf8'))
      const found = await recogniseLicense(readFileSync(file, 'utf8'))
      // A bundle of many licences, such as node's, gives null.
      if (found === license) agreed++
      else if (found !== null) wrong.push(`${file.slice(top.length)}: ${license}, not ${found}`)
    }
    // A few published texts are closer to a variant of the declared licence.
    assert.ok(agreed > 50 && wrong.length <= agreed / 20, `${agreed} agreed, but ${wrong}`)
  })
})
