import { archiveName } from '../../../lib/archive-name.ts'
import type { HeldLock } from '../../../migrations/lock-store.ts'
import { shownState } from '../../../migrations/states.ts'
import type { Summary } from '../../../migrations/summaries.ts'
import type * as wire from '../../../wire/types.ts'
import { timeOrNull, utcTimestamp } from '../../middleware/timestamps.ts'

/** Ours, like progress: small enough for a page that shows many. */
export function summaryJson(summary: Summary): wire.Summary {
  const { options, archive } = summary
  return {
    id: summary.id,
    guid: summary.guid,
    state: shownState(summary.state, summary.reason),
    reason: summary.reason,
    lock_repositories: options.lockRepositories,
    exclude_metadata: options.excludeMetadata,
    exclude_git_data: options.excludeGitData,
    org_metadata_only: options.orgMetadataOnly,
    allow_partial: options.allowPartial,
    created_at: utcTimestamp(summary.createdAt),
    started_at: timeOrNull(summary.startedAt),
    ended_at: timeOrNull(summary.endedAt),
    repositories: repositoryCountsJson(summary),
    bytes_done: summary.bytesDone,
    archive: archive && {
      bytes: archive.bytes,
      expires_at: utcTimestamp(archive.expiresAt),
      damaged: archive.isDamaged,
    },
    held_locks: summary.heldLocks,
    names: summary.names,
  }
}

export function repositoryCountsJson({ repositories }: Summary): wire.Summary['repositories'] {
  const { total, exported, reused, skipped, failed, remaining } = repositories
  return { total, exported, reused, skipped, failed, remaining }
}

export function lockJson({ owner, name, lockedAt, expiresAt }: HeldLock): wire.Lock {
  return {
    full_name: `${owner}/${name}`,
    locked_at: utcTimestamp(lockedAt),
    expires_at: utcTimestamp(expiresAt),
  }
}

/** With whose migration it is that locks it. */
export function heldLockJson(lock: HeldLock): wire.HeldLock {
  return { ...lockJson(lock), migration_id: lock.migrationId, login: lock.holder }
}

export interface ArchiveLink {
  url: string
  expiresAt: number
}

export function archiveLinkJson(
  { id, owner, createdAt, archive }: Summary,
  { url, expiresAt }: ArchiveLink,
): wire.ArchiveLink {
  return {
    url,
    name: archiveName(id, owner.login, new Date(createdAt)),
    bytes: archive?.bytes ?? 0,
    expires_at: utcTimestamp(expiresAt),
  }
}
