const DEFAULT_PER_PAGE = 30
const MAX_PER_PAGE = 100
/** Far beyond any list, and small enough that its offset is a safe integer. */
const MAX_PAGE = 1_000_000_000

export interface Paging {
  page: number
  perPage: number
  offset: number
  limit: number
}

/** Returns the page that a query asks for. Invalid values are ignored. */
export function pagingOf(query: Record<string, unknown>): Paging {
  const perPage = Math.min(naturalNumber(query.per_page) ?? DEFAULT_PER_PAGE, MAX_PER_PAGE)
  const page = Math.min(naturalNumber(query.page) ?? 1, MAX_PAGE)
  return { page, perPage, offset: (page - 1) * perPage, limit: perPage }
}

function naturalNumber(value: unknown): number | undefined {
  const text = Array.isArray(value) ? value.at(-1) : value
  if (typeof text !== 'string' || !/^\d+$/.test(text)) return undefined
  return Number(text) || undefined
}
