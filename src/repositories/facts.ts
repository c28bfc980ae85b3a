import type { Account } from '../accounts/account.ts'
import { PERMISSIONS, type Permission, type SourceFacts, USUAL_FACTS } from '../sources/source.ts'

/** What is of use to the catalogue alone. */
type Private = 'headCommit' | 'templateRepository' | 'forkOf' | 'ownerIsOrganization'

/** A repository as one viewer sees it: what a migration keeps and the wire is rendered from. No URLs. */
export interface RepositoryFacts extends Omit<SourceFacts, Private> {
  id: number
  name: string
  owner: Account
  fork: boolean
  forksCount: number
  permissions: Permissions
  /** Null where there is none or the viewer may not read it. A template's own template is not followed. */
  template: RepositoryFacts | null
}

export interface Permissions {
  admin: boolean
  push: boolean
  pull: boolean
}

export type Role = Permission | 'owner' | 'none'

const PUSHES: ReadonlySet<Role> = new Set(['owner', 'admin', 'maintain', 'write'])
const ADMINISTERS: ReadonlySet<Role> = new Set(['owner', 'admin'])

const BY_STRENGTH: readonly Role[] = ['none', ...PERMISSIONS, 'owner']

/** Whoever may do something by anybody's word may do it. */
export const strongerRole = (a: Role, b: Role): Role =>
  BY_STRENGTH.indexOf(a) > BY_STRENGTH.indexOf(b) ? a : b

export const mayRead = (role: Role, facts: Pick<SourceFacts, 'private'>): boolean =>
  role !== 'none' || !facts.private

export const mayAdminister = (role: Role): boolean => ADMINISTERS.has(role)

export function permissionsOf(role: Role, facts: Pick<SourceFacts, 'private'>): Permissions {
  return { admin: mayAdminister(role), push: PUSHES.has(role), pull: mayRead(role, facts) }
}

export function fullNameOf({ owner, name }: { owner: { login: string }; name: string }): string {
  return `${owner.login}/${name}`
}

/** What stands in for a repository that was never readable: it can be listed and named, with its problem beside it. */
export function factsOfUnreadable(now: number): SourceFacts {
  return {
    description: '',
    homepage: null,
    private: true,
    defaultBranch: 'main',
    ...USUAL_FACTS,
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
