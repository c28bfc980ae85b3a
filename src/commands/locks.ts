import type { Command } from 'commander'
import { heldLocks } from '../migrations/lock-store.ts'
import { addCommand, configOf, minute, printTable } from './command-line.ts'
import { withDatabase } from './parts.ts'

export function locksCommand(program: Command): void {
  addCommand(program, 'locks', 'which repositories refuse pushes, and for which migration').action(
    async (_options, command: Command) => {
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
    },
  )
}
