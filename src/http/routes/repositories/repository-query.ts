import { nameKey } from '../../../accounts/account.ts'
import { type FieldError, InvalidRequest } from '../../../migrations/errors.ts'
import {
  type Affiliation,
  affiliations,
  type RepositoryFilter,
  type RepositoryOrder,
} from '../../../repositories/administered-repositories.ts'
import { typeNotCombinable } from '../../middleware/http-errors.ts'

export const visibilities = ['all', 'public', 'private'] as const
export const repositoryTypes = ['all', 'owner', 'public', 'private', 'member'] as const
export const checks = ['failed'] as const
export const sorts = ['created', 'updated', 'pushed', 'full_name'] as const
export const directions = ['asc', 'desc'] as const

/** A date, or a date and time with a time zone. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/

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
  function parseTime(field: string): number | undefined {
    // An unescaped plus sign arrives as a space.
    const text = lastValue(query[field])?.replace(' ', '+')
    if (text === undefined) return undefined
    const time = TIME.test(text) ? Date.parse(text) : Number.NaN
    if (Number.isNaN(time)) reject(field)
    return time
  }

  const type = parseEnum('type', repositoryTypes)
  const visibility = parseEnum('visibility', visibilities)
  const check = parseEnum('check', checks)
  const affiliation = lastValue(query.affiliation)?.split(',') as Affiliation[] | undefined
  if (affiliation?.some((each) => !affiliations.includes(each))) reject('affiliation')
  const by = parseEnum('sort', sorts) ?? 'full_name'
  const direction = parseEnum('direction', directions)
  const updatedAfter = parseTime('since')
  const updatedBefore = parseTime('before')
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
function lastValue(sent: unknown): string | undefined {
  const text = Array.isArray(sent) ? sent.at(-1) : sent
  return typeof text === 'string' && text !== '' ? text : undefined
}
