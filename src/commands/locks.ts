import type { Command } from 'commander'
import { createGit } from '../git/git.ts'
import { isFullName } from '../lib/names.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import { type RecordedLock, recordedLocks } from '../migrations/lock-store.ts'
import { releaseRepository } from '../migrations/locks.ts'
import { dataPathsOf, openSource } from '../service/data-paths.ts'
import { withDatabase } from '../service/open-database.ts'
import { requireGit, requireRepositories } from '../service/requirements.ts'
import {
  addCommand,
  configAsDataOwner,
  formatTime,
  isoTime,
  print,
  printResult,
} from './command-line.ts'

export function locksCommand(program: Command, about: string): void {
  const command = addCommand(
    program,
    'locks',
    about,
    'godwit locks --data /var/lib/godwit',
    'godwit locks release alice/site --repositories /srv/git',
  )
  command
    .option('--json', 'print the locks as JSON')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const locks = await withDatabase(configAsDataOwner(command), ({ db }) => recordedLocks(db))
      const titles = ['REPOSITORY', 'MIGRATION', 'BY', 'LOCKED', 'EXPIRES', 'STATE']
      printResult({ isJson: json }, locks.map(lockJson), [titles, ...locks.map(lockRow)])
    })
  addReleaseCommand(command)
}

function lockRow(lock: RecordedLock): string[] {
  const { owner, name, migrationId, holder, lockedAt, expiresAt, releasedAt } = lock
  const state = releasedAt === null ? 'held' : `released ${formatTime(releasedAt)}, not yet removed`
  const times = [formatTime(lockedAt), formatTime(expiresAt)]
  return [`${owner}/${name}`, String(migrationId), holder, ...times, state]
}

const lockJson = (lock: RecordedLock) => ({
  full_name: `${lock.owner}/${lock.name}`,
  migration_id: lock.migrationId,
  login: lock.holder,
  locked_at: isoTime(lock.lockedAt),
  expires_at: isoTime(lock.expiresAt),
  released_at: isoTime(lock.releasedAt),
})

function addReleaseCommand(locks: Command): void {
  addCommand(
    locks,
    'release <repository>',
    'release the lock of a repository',
    'godwit locks release alice/site --repositories /srv/git',
    'godwit locks release alice/gone --repositories /srv/git --forget',
  )
    .option('--forget', 'also delete the lock of a repository that no longer exists')
    .action(async (fullName: string, { forget }: { forget?: boolean }, command: Command) => {
      if (!isFullName(fullName)) throw new UsageError(`"${fullName}" is not OWNER/NAME`)
      const [owner = '', name = ''] = fullName.split('/')
      const config = configAsDataOwner(command)
      const paths = dataPathsOf(config, requireRepositories(config))
      await requireGit(config, createGit(paths.git))
      const isRemoved = await withDatabase(config, ({ db }) => {
        const parts = { db, source: openSource(paths), now: Date.now }
        return releaseRepository(parts, { owner, name }, { forget: forget === true })
      })
      if (isRemoved) print(`${fullName} accepts pushes`)
      else if (forget) print(`${fullName} does not exist; its locks are deleted`)
      else throw new UserError(notInRepositories(fullName))
    })
}

const notInRepositories = (fullName: string): string =>
  `${fullName} is not in --repositories: its lock is released, and will be removed when the repository exists again ` +
  '(use --forget if it never will)'
