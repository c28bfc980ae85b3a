import { type FieldError, InvalidRequest } from '../../../migrations/errors.ts'
import {
  type Affiliation,
  affiliations,
  type RepositoryFilter,
  type RepositoryOrder,
} from '../../../repositories/administered-repositories.ts'
import { typeWithOthers } from '../../middleware/http-errors.ts'

export const visibilities = ['all', 'public', 'private'] as const
export const repositoryTypes = ['all', 'owner', 'public', 'private', 'member'] as const
export const sorts = ['created', 'updated', 'pushed', 'full_name'] as const
export const directions = ['asc', 'desc'] as const

/** A date, or a time with its zone. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/

/** Converts the query of a list of repositories. Throws InvalidRequest with all invalid fields. */
export function repositoryQueryOf(query: Record<string, unknown>): {
  filter: RepositoryFilter
  order: RepositoryOrder
} {
  const faults: FieldError[] = []
  const invalid = (field: string) =>
    void faults.push({ resource: 'Repository', field, code: 'invalid' })

  function chosen<T extends string>(field: string, among: readonly T[]): T | undefined {
    const text = textOf(query[field])
    if (text !== undefined && !among.includes(text as T)) invalid(field)
    return text as T | undefined
  }
  function timeOf(field: string): number | undefined {
    const text = textOf(query[field])
    if (text === undefined) return undefined
    // An unescaped plus sign arrives as a space.
    const at = TIME.test(text.replace(' ', '+')) ? Date.parse(text.replace(' ', '+')) : Number.NaN
    if (Number.isNaN(at)) invalid(field)
    return at
  }

  const type = chosen('type', repositoryTypes)
  const visibility = chosen('visibility', visibilities)
  const affiliation = textOf(query.affiliation)?.split(',') as Affiliation[] | undefined
  if (affiliation?.some((each) => !affiliations.includes(each))) invalid('affiliation')
  const by = chosen('sort', sorts) ?? 'full_name'
  const direction = chosen('direction', directions)
  const updatedAfter = timeOf('since')
  const updatedBefore = timeOf('before')
  const nameContains = textOf(query.q)
  if (faults.length > 0) throw new InvalidRequest(faults)
  if (type && (visibility || affiliation)) throw typeWithOthers()

  const isPrivate = PRIVACY[type ?? visibility ?? 'all']
  return {
    filter: {
      affiliations: AFFILIATIONS_OF_TYPE[type ?? 'all'] ?? affiliation ?? affiliations,
      ...(isPrivate !== undefined && { isPrivate }),
      ...(updatedAfter !== undefined && { updatedAfter }),
      ...(updatedBefore !== undefined && { updatedBefore }),
      ...(nameContains !== undefined && { nameContains }),
    },
    order: { by, direction: direction ?? (by === 'full_name' ? 'asc' : 'desc') },
  }
}

const PRIVACY: Record<string, boolean | undefined> = { public: false, private: true }
const AFFILIATIONS_OF_TYPE: Record<string, readonly Affiliation[] | undefined> = {
  owner: ['owner'],
  member: ['collaborator', 'organization_member'],
}

/** Returns the last value if it was repeated, and undefined if it is empty. */
function textOf(sent: unknown): string | undefined {
  const text = Array.isArray(sent) ? sent.at(-1) : sent
  return typeof text === 'string' && text !== '' ? text : undefined
}
