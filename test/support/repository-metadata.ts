import type { Account } from '../../packages/server/src/accounts/account.ts'
import { DEFAULT_OPTIONS, type Migration } from '../../packages/server/src/migrations/migration.ts'
import type { RepositoryMetadata } from '../../packages/server/src/repositories/repository-metadata.ts'

export const alice: Account = {
  id: 1,
  login: 'alice',
  type: 'User',
  siteAdmin: false,
  createdAt: Date.UTC(2010, 0, 1),
}

/** Returns a repository in which every field is set. */
export function repositoryMetadata(change: Partial<RepositoryMetadata> = {}): RepositoryMetadata {
  return {
    id: 7,
    name: 'widgets',
    owner: alice,
    description: 'Widgets for everyone',
    homepage: 'https://widgets.example.com',
    private: false,
    defaultBranch: 'main',
    sizeKib: 108,
    createdAt: Date.UTC(2011, 0, 26, 19, 1, 12),
    pushedAt: Date.UTC(2011, 0, 26, 19, 6, 43),
    updatedAt: Date.UTC(2011, 0, 26, 19, 14, 43, 999),
    language: 'TypeScript',
    license: 'MIT',
    topics: ['birds', 'api'],
    archived: false,
    disabled: false,
    isTemplate: true,
    hasIssues: true,
    hasProjects: true,
    hasWiki: true,
    hasPages: false,
    hasDownloads: true,
    allowRebaseMerge: true,
    allowSquashMerge: true,
    allowMergeCommit: true,
    deleteBranchOnMerge: true,
    mirrorOf: null,
    collaborators: [],
    fork: false,
    forksCount: 9,
    permissions: { admin: true, push: true, pull: true },
    template: null,
    ...change,
  }
}

/** A migration that has just been started. */
export function startedMigration(change: Partial<Migration> = {}): Migration {
  return {
    id: 79,
    guid: '0b989ba4-242f-11e5-81e1-c7b6966d2516',
    owner: alice,
    name: null,
    options: { ...DEFAULT_OPTIONS, lockRepositories: true },
    state: 'pending',
    reason: null,
    repositoryCount: 1,
    version: 1,
    createdAt: Date.UTC(2026, 10, 14, 8, 30, 0, 400),
    updatedAt: Date.UTC(2026, 6, 14, 8, 30),
    archiveExpiresAt: null,
    archiveKey: null,
    ...change,
  }
}
