import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from './support/odd-repositories.ts'

const PROJECT = new URL('..', import.meta.url).pathname
const UNITS = join(PROJECT, 'packaging/systemd')
/** As `systemd-analyze` counts: 0 is nothing to fear, 10 is everything. */
const WORST_SCORE = 3

const needsSystemd = {
  skip:
    spawnSync('systemd-analyze', ['--version']).status !== 0 &&
    process.env.CI !== 'true' &&
    'systemd is not installed',
}

for (const unit of readdirSync(UNITS)) {
  test(`${unit} is right, and lets Godwit do little else than its work`, needsSystemd, (t) => {
    const file = join(temporaryDirectory(t), unit)
    const text = readFileSync(join(UNITS, unit), 'utf8')
    // What is verified must be there.
    const program = join(file, '../godwit')
    writeFileSync(program, '')
    chmodSync(program, 0o755)
    writeFileSync(file, text.replaceAll('/usr/bin/godwit', program))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    })
    assert.deepEqual([verified.status, verified.stderr], [0, ''])
    const threshold = `--threshold=${WORST_SCORE * 10}`
    const score = ['security', '--offline=true', '--no-pager', threshold, file]
    const judged = spawnSync('systemd-analyze', score, { encoding: 'utf8' })
    assert.equal(judged.status, 0, judged.stdout.split('\n').slice(-3).join('\n'))
  })
}
