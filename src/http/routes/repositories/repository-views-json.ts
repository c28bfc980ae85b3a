import type { components } from '@octokit/openapi-types'
import type { Addresses } from '../../../repositories/addresses.ts'
import { isAtLeast, type ListedCollaborator } from '../../../repositories/collaborators.ts'
import type { RepositoryFacts } from '../../../repositories/facts.ts'
import type { CatalogueEntry } from '../../../repositories/repository-store.ts'
import type { LicenseFile, ListedRef } from '../../../sources/source.ts'
import type * as wire from '../../../wire/types.ts'
import { nodeId } from '../../middleware/node-id.ts'
import { licenseJson } from '../licenses/license-json.ts'
import { userJson } from '../users/user-json.ts'
import { extendedRepositoryJson } from './repository-json.ts'

type Schemas = components['schemas']
type Named = Pick<CatalogueEntry, 'id' | 'owner' | 'name'>

/** What a fork was made from, and what that goes back to, where the viewer may read them. */
export interface Forebears {
  parent?: RepositoryFacts | undefined
  source?: RepositoryFacts | undefined
}

export function fullRepositoryJson(
  facts: RepositoryFacts,
  { parent, source }: Forebears,
  addresses: Addresses,
) {
  const { owner } = facts
  return {
    ...extendedRepositoryJson(facts, addresses),
    has_discussions: false,
    ...(owner.type === 'Organization' && { organization: userJson(owner, addresses) }),
    ...(parent && { parent: extendedRepositoryJson(parent, addresses) }),
    ...(source && { source: extendedRepositoryJson(source, addresses) }),
  } satisfies Schemas['full-repository'] & wire.FullRepository
}

/** The rule that an archive has of it: git refuses the same of every branch, but only one is known to matter. */
export const isProtected = ({ facts }: Pick<CatalogueEntry, 'facts'>, branch: string): boolean =>
  (facts.denies?.length ?? 0) > 0 && branch === facts.defaultBranch

export function branchJson(
  entry: Named & Pick<CatalogueEntry, 'facts'>,
  { name, commit }: ListedRef,
  addresses: Addresses,
) {
  return {
    name,
    commit: commitJson(entry, commit, addresses),
    protected: isProtected(entry, name),
  } satisfies Schemas['short-branch'] & wire.Branch
}

export function tagJson(entry: Named, { name, commit }: ListedRef, addresses: Addresses) {
  const { api } = addressesOf(entry, addresses)
  const ref = `refs/tags/${escaped(name)}`
  return {
    name,
    zipball_url: `${api}/zipball/${ref}`,
    tarball_url: `${api}/tarball/${ref}`,
    commit: commitJson(entry, commit, addresses),
    node_id: nodeId('Ref', `${entry.id}:refs/tags/${name}`),
  } satisfies Schemas['tag'] & wire.Tag
}

export function collaboratorJson(
  { account, permission }: ListedCollaborator,
  addresses: Addresses,
) {
  const may = (asked: typeof permission) => isAtLeast(permission, asked)
  return {
    ...userJson(account, addresses),
    permissions: {
      admin: may('admin'),
      maintain: may('maintain'),
      push: may('write'),
      triage: may('triage'),
      pull: true,
    },
    role_name: permission,
  } satisfies Schemas['collaborator'] & wire.Collaborator
}

const LINE_LENGTH = 60

export function licenseContentJson(
  entry: Named & Pick<CatalogueEntry, 'facts'>,
  { path, oid, bytes, license: recognised }: LicenseFile,
  addresses: Addresses,
) {
  const { api, html } = addressesOf(entry, addresses)
  const branch = escaped(entry.facts.defaultBranch)
  const url = `${api}/contents/${escaped(path)}?ref=${branch}`
  const gitUrl = `${api}/git/blobs/${oid}`
  const htmlUrl = `${html}/blob/${branch}/${escaped(path)}`
  // What the operator says of it counts more than what its text looks like.
  const license = entry.facts.license ?? recognised
  return {
    name: path,
    path,
    sha: oid,
    size: bytes.length,
    url,
    html_url: htmlUrl,
    git_url: gitUrl,
    download_url: null,
    type: 'file',
    content: inLines(bytes.toString('base64')),
    encoding: 'base64' as const,
    _links: { self: url, git: gitUrl, html: htmlUrl },
    license: license === null ? null : licenseJson(license, addresses),
  } satisfies Schemas['license-content'] & wire.LicenseContent
}

const addressesOf = ({ owner, name }: Named, addresses: Addresses) =>
  addresses.repository(owner.login, name)

const commitJson = (entry: Named, sha: string, addresses: Addresses) => ({
  sha,
  url: `${addressesOf(entry, addresses).api}/commits/${sha}`,
})

/** Names of branches and files may have anything in them but what git forbids. */
const escaped = (name: string): string => name.split('/').map(encodeURIComponent).join('/')

const inLines = (text: string): string =>
  text.replaceAll(new RegExp(`.{1,${LINE_LENGTH}}`, 'g'), '$&\n')
