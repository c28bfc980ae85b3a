import { isFullName } from '@godwit/lib/names'
import { NotFound } from '@godwit/lib/request-errors'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { findAccount } from '@godwit/server/accounts/account-store'
import { audited } from '@godwit/server/accounts/audit-log'
import type { Db } from '@godwit/server/db/database'
import { type RecordedLock, recordedLocks } from '@godwit/server/migrations/lock-store'
import { removeLocks } from '@godwit/server/migrations/locks'
import {
  openSource,
  requireGit,
  requireRepositories,
  sourcePathsOf,
} from '@godwit/server/service/data-paths'
import { withDatabase } from '@godwit/server/service/open-database'
import type { Command } from 'commander'
import { addCommand, configAsDataOwner, withExamples } from './command-line.ts'
import { formatTime, isoTime, type JsonOption, printResult } from './print.ts'
import { COMMAND_LINE, withServiceDatabase } from './service-database.ts'
import { DATABASE, SOURCE } from './service-settings.ts'
import { tableOf } from './table.ts'

export function lockCommands(program: Command, about: string): void {
  const lock = withExamples(program.command('lock').description(about), [
    'godwit lock list',
    'godwit lock remove alice/site --repositories /srv/git',
  ])
  addCommand(
    lock,
    'list',
    'list all locks',
    ['godwit lock list --data /var/lib/godwit'],
    DATABASE,
  ).action(async ({ json }: JsonOption, command: Command) => {
    const locks = await withServiceDatabase(command, recordedLocks)
    printResult({ json }, locks.map(lockJson), lockRows(locks), 'no repository is locked')
  })
  addRemoveCommand(lock)
}

const lockRows = (locks: readonly RecordedLock[]) =>
  tableOf(locks, {
    REPOSITORY: ({ owner, name }) => `${owner}/${name}`,
    MIGRATION: ({ migrationId }) => migrationId,
    BY: ({ holder }) => holder,
    LOCKED: ({ lockedAt }) => formatTime(lockedAt),
    EXPIRES: ({ expiresAt }) => formatTime(expiresAt),
    STATE: ({ releasedAt }) =>
      releasedAt === null ? 'held' : `released ${formatTime(releasedAt)}, not yet removed`,
  })

const lockJson = (lock: RecordedLock) => ({
  full_name: `${lock.owner}/${lock.name}`,
  migration_id: lock.migrationId,
  login: lock.holder,
  locked_at: isoTime(lock.lockedAt),
  expires_at: isoTime(lock.expiresAt),
  released_at: isoTime(lock.releasedAt),
})

const REMOVE_SETTINGS = [...DATABASE, ...SOURCE] as const

function addRemoveCommand(lock: Command): void {
  addCommand(
    lock,
    'remove <repository>',
    'remove all locks of a repository, on the machine of the service',
    [
      'godwit lock remove alice/site --repositories /srv/git',
      'godwit lock remove alice/gone --repositories /srv/git --forget',
    ],
    REMOVE_SETTINGS,
  )
    .option('--forget', 'also delete the lock of a repository that no longer exists')
    .action(async (fullName: string, { forget = false, json }: RemoveOptions, command: Command) => {
      if (!isFullName(fullName)) throw new UsageError(`'${fullName}' is not OWNER/NAME`)
      const [owner = '', name = ''] = fullName.split('/')
      const config = configAsDataOwner(command, REMOVE_SETTINGS)
      const paths = sourcePathsOf(config, requireRepositories(config.repositories))
      await requireGit(paths.git)
      const isRemoved = await withDatabase(config, ({ db }) => {
        const dependencies = { db, source: openSource(paths), now: Date.now }
        const subject = `repository ${fullName}`
        return audited(dependencies, COMMAND_LINE, (record) => {
          const alsoWrite = async (tx: Db) =>
            record(tx, 'lock.release', { subject, owner: await findAccount(tx, owner) })
          return removeLocks(dependencies, { owner, name }, { forget, alsoWrite })
        })
      }).catch((error: unknown) => {
        if (!(error instanceof NotFound)) throw error
        throw new UserError(
          `${fullName} does not exist: check the spelling (\`godwit lock list\` shows all locks)`,
          { cause: error },
        )
      })
      if (!isRemoved && !forget)
        throw new UserError(
          `${fullName} is not in --repositories: its lock is released, and will be removed when the repository exists again (use --forget if it never will)`,
        )
      const text = isRemoved ? 'accepts pushes' : 'does not exist; its locks are deleted'
      printResult({ json }, { full_name: fullName, locked: false }, `${fullName} ${text}`)
    })
}

type RemoveOptions = JsonOption & { forget?: boolean }
