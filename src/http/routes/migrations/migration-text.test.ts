import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alice, startedMigration } from '../../../../test/support/facts.ts'
import { randomNumbers } from '../../../../test/support/random-numbers.ts'
import type { Migration } from '../../../migrations/migration.ts'
import { addressesFrom } from '../../../repositories/addresses.ts'
import { offsetTimestamps } from '../../middleware/timestamps.ts'
import { migrationJson } from './migration-json.ts'
import { migrationText } from './migration-text.ts'

const addresses = addressesFrom({
  baseUrl: 'https://git.example.com/api',
  webUrl: 'https://git.example.com/{owner}/{name}',
  cloneUrl: 'https://git.example.com/{owner}/{name}.git',
  sshUrl: 'git@git.example.com:{owner}/{name}.git',
})
const rendering = { addresses, migrationTime: offsetTimestamps('Europe/Berlin'), edition: '1' }

const STATES = ['pending', 'exporting', 'exported', 'failed'] as const

function anyMigration(random: () => number): Migration {
  const time = () => Math.floor(random() * 4e12) - 1e12
  const { options, ...rest } = startedMigration()
  const chosen = Object.keys(options).map((name) => [name, random() < 0.5])
  return {
    ...rest,
    id: Math.floor(random() * 1e9),
    guid: `${random()}`,
    owner: { ...alice, id: Math.floor(random() * 100), login: `é"${Math.floor(random() * 100)}` },
    options: Object.fromEntries(chosen),
    state: STATES[Math.floor(random() * STATES.length)]!,
    createdAt: time(),
    updatedAt: time(),
    archiveExpiresAt: random() < 0.5 ? null : time(),
  }
}

test('the text of any migration is what its renderer makes of it, to the byte', () => {
  const random = randomNumbers(18)
  const text = migrationText(rendering)
  for (let n = 0; n < 1000; n++) {
    const migration = anyMigration(random)
    assert.equal(
      text(migration, undefined).join(''),
      JSON.stringify(migrationJson(migration, [], rendering)),
    )
  }
})

test('its repositories stand where the renderer has them', async () => {
  const migration = startedMigration()
  const listed = { whole: async () => [], async *inBatches() {} }
  const [opening, within, closing] = migrationText(rendering)(migration, listed)
  assert.equal(within, listed)
  assert.match(String(opening), /"repositories":\[$/)
  assert.match(String(closing), /^\],"url":/)
})
