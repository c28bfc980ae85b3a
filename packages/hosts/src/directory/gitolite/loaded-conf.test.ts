import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCompiledConf, parseDump } from './loaded-conf.ts'

test('a dump of Perl data is parsed', () => {
  const read = parseDump(`$data_version = '3.2';
%repos = (
  'a\\'b\\\\c\\d' => {
    '@all' => [
      [
        3,
        'RW+',
        'refs/.*'
      ]
    ]
  }
);
%empty = ();
`)
  assert.deepEqual(read, {
    data_version: '3.2',
    repos: { "a'b\\c\\d": { '@all': [[3, 'RW+', 'refs/.*']] } },
    empty: {},
  })
})

test('code in a dump is refused, and nothing is run', () => {
  for (const text of [
    "%repos = ( 'a' => system('id') );",
    "%repos = ( 'a' => $repos{'b'} );",
    'unlink glob("*");',
    "%repos = ( 'a' => { 'b' ); ",
    '%repos = ( \'a\' => "x@{[`id`]}" );',
    `%deep = ( 'a' => ${'['.repeat(100_000)}`,
  ])
    assert.throws(() => parseDump(text), /expected|too deep/, text.slice(0, 60))
  assert.throws(() => parseCompiledConf("$data_version = '4.0';"), /4.0/)
})
