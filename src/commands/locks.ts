import type { Command } from 'commander'
import { heldLocks } from '../migrations/lock-store.ts'
import { withDatabase } from '../service/open-database.ts'
import { addCommand, configOf, minute, printTable, withExamples } from './command-line.ts'

export function locksCommand(program: Command, about: string): void {
  const command = addCommand(program, 'locks', about)
  withExamples(command, 'godwit locks --data /var/lib/godwit')
  command.action(async (_options, command: Command) => {
    const locks = await withDatabase(configOf(command), ({ db }) => heldLocks(db))
    printTable([
      ['REPOSITORY', 'MIGRATION', 'LOCKED', 'OPENS BY ITSELF'],
      ...locks.map(({ owner, name, migrationId, lockedAt, expiresAt }) => [
        `${owner}/${name}`,
        String(migrationId),
        minute(lockedAt),
        minute(expiresAt),
      ]),
    ])
  })
}
