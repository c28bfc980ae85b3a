import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from './csv.ts'
import { accountRefusal } from './gitea-dump/choose-destinations.ts'
import { parsePeopleCsv } from './people.ts'

const read = (...lines: string[]) => {
  const { people, warnings } = parsePeopleCsv(lines.join('\n'), accountRefusal)
  return { people: Object.fromEntries(people), warnings }
}

test('old and new logins are read without a header', () => {
  assert.deepEqual(read('Alice,anna', '# a word', '', '"bob", robert', 'carol,caroline,17'), {
    people: {
      alice: { login: 'anna', id: undefined },
      bob: { login: 'robert', id: undefined },
      carol: { login: 'caroline', id: undefined },
    },
    warnings: [],
  })
})

test('a file of show --people is read when it is filled in', () => {
  const header = 'old-login,new-login,account-id,issues'
  assert.deepEqual(read(`\ufeff${header}\r`, 'alice,anna,7,3\r', 'bob,,,12', 'carol,caro,,1'), {
    people: {
      alice: { login: 'anna', id: 7 },
      carol: { login: 'caro', id: undefined },
    },
    warnings: [],
  })
})

test('text that a spreadsheet would calculate is written as text', () => {
  const formulas = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1']
  assert.equal(csvLine(formulas), `'=1+1,'+1,'-1,'@SUM(A1),'\t=1,"'\r=1"\n`)
  assert.equal(
    csvLine(['a=b', -1, 'say "yes", or', 'two\nlines']),
    `a=b,-1,"say ""yes"", or","two\nlines"\n`,
  )
})

test('an address is enough for GitLab, and can come with an access level', () => {
  const header = 'Old-Login,New-Login,Email,Access-Level'
  const lines = [
    'alice,,a@example.com,',
    'bob,rob,b@example.com,30',
    'carol,caro,c@example.com,50',
    'dan@old.example,,dan@new.example,',
  ]
  assert.deepEqual(read(header, ...lines), {
    people: {
      alice: { login: 'alice', id: undefined, email: 'a@example.com' },
      bob: { login: 'rob', id: undefined, email: 'b@example.com', accessLevel: 30 },
      'dan@old.example': { login: 'dan@old.example', id: undefined, email: 'dan@new.example' },
    },
    warnings: ['line 4: 50 is not an access level: 10, 20, 30 or 40; the line is ignored'],
  })
})

test('an invalid line is a warning with its number, and the others are used', () => {
  const { people, warnings } = read(
    'old-login,new-login,account-id',
    'alice',
    ',anna',
    'bob,two words',
    'carol,caro',
    'Carol,caroline',
    'eve,evelyn,first',
  )
  assert.deepEqual(Object.keys(people), ['carol'])
  assert.deepEqual(
    warnings.map((warning) => warning.slice(0, 45)),
    [
      'line 2: it has no comma; the line is ignored',
      'line 3: the old login is missing; the line is',
      'line 4: two words: the name may have only let',
      'line 6: carol is mapped by an earlier line; t',
      'line 7: first is not an account id; the line ',
    ],
  )
})

test('what show --people writes about hostile logins is read as the same logins, or refused', () => {
  const header = csvLine(['old-login', 'new-login'])
  const hostile = [
    'eve\nbob,mallory',
    'eve\r\nbob,mallory,7',
    'eve";bob',
    'bob;mallory',
    '=1+1',
    'eve\u2028bob',
  ]
  for (const login of hostile)
    assert.throws(() => read(header + csvLine([login, ''])), { name: 'UserError' }, login)
  assert.deepEqual(read(header + csvLine(['-eve', 'eva']) + csvLine(['two words', 'ted'])).people, {
    '-eve': { login: 'eva', id: undefined },
    'two words': { login: 'ted', id: undefined },
  })
})

test('a file with a value that cannot be a login, or with unmatched quotes, is refused as a whole', () => {
  const why = (line: string) => {
    try {
      return read('carol,caro', line) && ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const end = 'nothing of the file is used'
  assert.equal(why('"dave,david'), `line 2: its quotes do not match; ${end}`)
  assert.equal(
    why('dave,"david\nbob,mallory"'),
    `line 2: "david\\nbob,mallory" has a line break or a control character; ${end}`,
  )
  assert.equal(why('=cmd,x'), `line 2: "=cmd" cannot be a login; ${end}`)
  assert.equal(
    why('alice;anna'),
    `line 2: "alice;anna" cannot be a login; if it is two columns, begin the file with old-login;new-login; ${end}`,
  )
  assert.match(why('"a""b",x'), /cannot be a login/)
  const header = 'old-login,new-login,email\n'
  assert.throws(() => read(`${header}alice,,"a@b.example,30"`), /is not an e-mail address/)
})

test('columns may be separated by semicolons, as spreadsheets of some countries write them', () => {
  assert.deepEqual(read('"old-login";new-login;account-id', '"alice";anna;7').people, {
    alice: { login: 'anna', id: 7 },
  })
})
