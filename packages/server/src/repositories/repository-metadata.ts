import {
  DEFAULT_METADATA,
  PERMISSIONS,
  type Permission,
  type SourceMetadata,
} from '@godwit/hosts/source'
import type { Account } from '../accounts/account.ts'

/** Metadata that only the repository index needs. */
type IndexOnly = 'headCommit' | 'templateRepository' | 'forkOf' | 'ownerIsOrganization'

/** A repository as one viewer sees it, without URLs. A migration stores it, and the API renders it. */
export interface RepositoryMetadata extends Omit<SourceMetadata, IndexOnly> {
  id: number
  name: string
  owner: Account
  fork: boolean
  forksCount: number
  permissions: Permissions
  /** Null if there is none or the viewer may not read it. The template of a template is always null. */
  template: RepositoryMetadata | null
}

export interface Permissions {
  admin: boolean
  push: boolean
  pull: boolean
}

export type Role = Permission | 'owner' | 'none'

const PUSHES: ReadonlySet<Role> = new Set(['owner', 'admin', 'maintain', 'write'])
const ADMINISTERS: ReadonlySet<Role> = new Set(['owner', 'admin'])

const ROLES_BY_STRENGTH: readonly Role[] = ['none', ...PERMISSIONS, 'owner']

export const strongerRole = <T extends Role>(a: T, b: T): T =>
  ROLES_BY_STRENGTH.indexOf(a) > ROLES_BY_STRENGTH.indexOf(b) ? a : b

export const mayRead = (role: Role, metadata: Pick<SourceMetadata, 'private'>): boolean =>
  role !== 'none' || !metadata.private

export const mayAdminister = (role: Role): boolean => ADMINISTERS.has(role)

export function permissionsOf(role: Role, metadata: Pick<SourceMetadata, 'private'>): Permissions {
  return { admin: mayAdminister(role), push: PUSHES.has(role), pull: mayRead(role, metadata) }
}

export function fullNameOf({ owner, name }: { owner: { login: string }; name: string }): string {
  return `${owner.login}/${name}`
}

/** Returns placeholder metadata for a repository that was never readable, so that it can be listed with its problem. */
export function metadataOfUnreadable(now: number): SourceMetadata {
  return {
    description: '',
    homepage: null,
    private: true,
    defaultBranch: 'main',
    ...DEFAULT_METADATA,
    sizeKib: 0,
    createdAt: now,
    pushedAt: now,
    updatedAt: now,
    headCommit: null,
    language: null,
    license: null,
    topics: [],
    templateRepository: null,
    forkOf: null,
    hasWiki: false,
    collaborators: [],
    mirrorOf: null,
  }
}
