import { dateTime, EXTENSION, enumOf, string } from '@godwit/contract/schemas/schema'
import { parseTime } from '@godwit/lib/parse-time'
import { type FieldError, InvalidRequest } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Account, nameKey, type Reader } from '../../../accounts/account.ts'
import {
  type Affiliation,
  affiliations,
  countAdministered,
  listAdministered,
  type RepositoryFilter,
  type RepositoryOrder,
} from '../../../repositories/administered-repositories.ts'
import { metadataForViewer } from '../../../repositories/visible-repository.ts'
import { insertTokens, tokenPlaceholder } from '../../credentials/clone-tokens.ts'
import * as openapi from '../../description/operation.ts'
import { HttpError } from '../../middleware/http-errors.ts'
import { parsePaging, sendPage } from '../../middleware/pagination.ts'
import { requireViewer, type WithQuery } from '../../middleware/request.ts'
import { extendedRepositoryJson } from '../../rendering/repository-json.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'

const typeNotCombinable = () =>
  new HttpError(422, 'If you specify visibility or affiliation, you cannot specify type.')

const visibilities = ['all', 'public', 'private'] as const
const repositoryTypes = ['all', 'owner', 'public', 'private', 'member'] as const
const checks = ['failed'] as const
export const sorts = ['created', 'updated', 'pushed', 'full_name'] as const
const directions = ['asc', 'desc'] as const

export const visibility = enumOf(visibilities, 'all').describe(
  'Only repositories with this visibility.',
)
const sort = enumOf(sorts, 'full_name').describe('Field to sort by.')
const anAffiliation = `(${affiliations.join('|')})`
const LIST_QUERY = {
  check: enumOf(checks).describe(
    `\`failed\`: only repositories that cannot be exported, as the last sync or \`godwit check\` found. ${EXTENSION}`,
  ),
  direction: enumOf(directions).describe('The default is `asc` for `full_name`, otherwise `desc`.'),
  since: dateTime.describe('Only repositories updated after this time.'),
  before: dateTime.describe('Only repositories updated before this time.'),
}
/** The query of lists of one owner. */
export const OWNER_LIST_QUERY = {
  q: string.describe(`Text to search for in the name; case is ignored. ${EXTENSION}`),
  sort,
  ...LIST_QUERY,
}
export const LIST_RESPONSES = {
  ...openapi.pageResponses('extended-repository', 'own-repositories', 'x-total-count'),
  422: openapi.errorResponse('invalid-query'),
}

const routes = openapi.routes('Caller')({
  'repos/list-for-authenticated-user': {
    summary: 'List the repositories that the caller may migrate',
    description: 'Repositories that the caller owns or administers, in their current state.',
    query: {
      q: string.describe(`Text to search for in \`owner/name\`; case is ignored. ${EXTENSION}`),
      visibility,
      affiliation: string.describe(
        "Separated by commas: `owner` for the caller's own repositories, `collaborator` for those of other users, `organization_member` for those of organizations.",
        { default: affiliations.join(), pattern: `^${anAffiliation}(,${anAffiliation})*$` },
      ),
      type: enumOf(repositoryTypes, 'all').describe(
        "`member` for all except the caller's own. Cannot be used together with `visibility` or `affiliation`.",
      ),
      sort,
      ...LIST_QUERY,
    },
    responses: LIST_RESPONSES,
  },
})

export function addUserRepositoriesRoute(
  app: FastifyInstance,
  dependencies: ServerDependencies,
): void {
  const options = routes['repos/list-for-authenticated-user']
  app.get<WithQuery>('/user/repos', options, async (request, reply) => {
    const viewer = requireViewer(request)
    const query = repositoryQueryOf(request.query)
    return sendRepositoryList(dependencies, reply, { of: viewer, seenBy: viewer, ...query })
  })
}

interface RepositoryList {
  /** The account that owns or administers the repositories. */
  of: { account: Account }
  /** The account whose permissions are shown. */
  seenBy: Reader
  filter: RepositoryFilter
  order: RepositoryOrder
}

/** Sends one page of the repositories that an account owns or administers, with clone tokens for a caller with a token. */
export async function sendRepositoryList(
  { db, rendering, cloneTokens }: ServerDependencies,
  reply: FastifyReply,
  { of, seenBy, filter, order }: RepositoryList,
): Promise<FastifyReply> {
  const { addresses } = rendering
  const { viewer } = reply.request
  const paging = parsePaging(reply.request.query)
  const total = await countAdministered(db, of, filter)
  const entries = await listAdministered(db, of, filter, { ...paging, order })
  const repositories = await metadataForViewer(db, seenBy, entries)
  const context = { ...addresses, tokenOf: tokenPlaceholder }
  const body = repositories.map((each) => extendedRepositoryJson(each, context))
  const tokenOf = viewer ? cloneTokens.for(viewer) : undefined
  const insertCredentials = (json: string) => insertTokens(json, tokenOf)
  return sendPage(reply, addresses, { total, body, insertCredentials })
}

/** Converts the query of a list of repositories. Throws InvalidRequest with all invalid fields. */
export function repositoryQueryOf(query: Record<string, unknown>): {
  filter: RepositoryFilter
  order: RepositoryOrder
} {
  const errors: FieldError[] = []
  const reject = (field: string) => errors.push({ resource: 'Repository', field, code: 'invalid' })

  function parseEnum<T extends string>(field: string, values: readonly T[]): T | undefined {
    const text = lastValue(query[field])
    if (text !== undefined && !values.includes(text as T)) reject(field)
    return text as T | undefined
  }
  function timeIn(field: string): number | undefined {
    const text = lastValue(query[field])
    const time = text === undefined ? undefined : parseTime(text)
    if (text !== undefined && time === undefined) reject(field)
    return time
  }

  const type = parseEnum('type', repositoryTypes)
  const visibility = parseEnum('visibility', visibilities)
  const check = parseEnum('check', checks)
  const affiliation = lastValue(query.affiliation)?.split(',') as Affiliation[] | undefined
  if (affiliation?.some((each) => !affiliations.includes(each))) reject('affiliation')
  const by = parseEnum('sort', sorts) ?? 'full_name'
  const direction = parseEnum('direction', directions)
  const updatedAfter = timeIn('since')
  const updatedBefore = timeIn('before')
  const nameContains = lastValue(query.q)
  if (errors.length > 0) throw new InvalidRequest(errors)
  if (type && (visibility || affiliation)) throw typeNotCombinable()

  const isPrivate = PRIVACY[type ?? visibility ?? 'all']
  return {
    filter: {
      affiliations: AFFILIATIONS_OF_TYPE[type ?? 'all'] ?? affiliation ?? affiliations,
      ...(isPrivate !== undefined && { isPrivate }),
      ...(updatedAfter !== undefined && { updatedAfter }),
      ...(updatedBefore !== undefined && { updatedBefore }),
      ...(nameContains !== undefined && { nameContains }),
      ...(check !== undefined && { isDamaged: true as const }),
    },
    order: { by, direction: direction ?? (by === 'full_name' ? 'asc' : 'desc') },
  }
}

/** Makes the search of a list of one owner ignore the owner's name; `OWNER/` before the text is allowed. */
export function searchNamesOnly(filter: RepositoryFilter, login: string): RepositoryFilter {
  const { nameContains: text, ...others } = filter
  const owner = `${login}/`
  const hasOwner = text !== undefined && nameKey(text).startsWith(nameKey(owner))
  return { ...others, ownNameContains: hasOwner ? text.slice(owner.length) : text }
}

const PRIVACY: Record<string, boolean | undefined> = { public: false, private: true }
const AFFILIATIONS_OF_TYPE: Record<string, readonly Affiliation[] | undefined> = {
  owner: ['owner'],
  member: ['collaborator', 'organization_member'],
}

/** Returns the last value of a parameter, which may be repeated, or undefined if it is empty. */
export function lastValue(sent: unknown): string | undefined {
  const text = Array.isArray(sent) ? sent.at(-1) : sent
  return typeof text === 'string' && text !== '' ? text : undefined
}
