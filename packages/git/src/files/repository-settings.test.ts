import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gitHost } from '../../../../test/support/git-host.ts'
import { parsePlainConfig, plainSettings } from './repository-settings.ts'

const host = await gitHost()
after(() => host.remove())

/** Returns the settings as git lists them; undefined if git rejects the config. */
async function byGit(text: string): Promise<string | undefined> {
  const file = join(host.root, 'config')
  await writeFile(file, text)
  const args = ['config', '--file', file, '--no-includes', '-z', '--list']
  return host.godwitGit.text(args).catch(() => undefined)
}

test('plain lines are read as git reads them', async () => {
  for (const text of [
    '',
    '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n',
    '[core]\nbare=true',
    '; a comment\n[Core] \n  # another\n\tBare =   TRUE  \n\n',
    '[remote "Origin"]\n\turl = https://user@example.com/a?b=c&d=[e]\n\tfetch = +refs/*:refs/*\n',
    '[remote "with space/ünïcode"]\n\tmirror = true\n',
    '[section.Sub]\n\tkey-1 = one  two\n\tempty =\n',
    '[gitweb]\n\tdescription = Größe zählt 🦆, und mehr\n\tOwner = Ada\n\towner = Bob\n',
    '[include]\n\tpath = /etc/passwd\n',
    '[core]\n\tname\t=\t one two \t\n',
    '[receive]\n\thideRefs = a\n[transfer]\n\thideRefs = !a\n[receive]\n\thideRefs = refs/',
  ]) {
    const settings = plainSettings(text)
    assert.ok(settings, text)
    const expected = (await byGit(text))!.split('\0').slice(0, -1)
    const listed = settings.map((each) => each.join('\n'))
    assert.deepEqual(listed, expected, text)
    const byKey = Map.groupBy(settings, ([key]) => key)
    const values = [...byKey].map(([key, all]) => [key, all.map(([, value]) => value)])
    assert.deepEqual([...parsePlainConfig(text)!], values, text)
  }
})

test('all other lines are left to git', () => {
  for (const text of [
    'bare = true\n',
    '[core]\n\tbare\n',
    '[core] bare = true\n',
    '[core]\n\tname = "quoted"\n',
    '[core]\n\tname = a # remark\n',
    '[core]\n\tname = a ; remark\n',
    '[core]\n\tname = a\\\n\tb\n',
    '[core]\n\tname = a\tb\n',
    // A line that takes a careless regular expression forever.
    `[core]\n\tname = ${' '.repeat(65_000)}#\n`,
    '[core]\r\n\tbare = true\r\n',
    '[remote "a\\"b"]\n\turl = x\n',
    '\ufeff[core]\n\tbare = true\n',
    '[core]\n\tname = a\0b\n',
    '[core]\n\u00a0bare = true\n',
    '[core]\n\t1 = true\n',
    '[co re]\n',
    '[core\n',
  ]) {
    assert.equal(plainSettings(text), undefined, JSON.stringify(text))
    assert.equal(parsePlainConfig(text), undefined, JSON.stringify(text))
  }
})
