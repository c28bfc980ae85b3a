const DEFAULT_PER_PAGE = 30
const MAX_PER_PAGE = 100
/** Far beyond any list, and small enough that an offset made from it is still a safe integer. */
const LAST_PAGE_EVER = 1_000_000_000

export interface Paging {
  page: number
  perPage: number
  offset: number
  limit: number
}

/** A page number or size that makes no sense is not an error: it counts as not sent. */
export function pagingOf(query: Record<string, unknown>): Paging {
  const perPage = Math.min(naturalNumber(query.per_page) ?? DEFAULT_PER_PAGE, MAX_PER_PAGE)
  const page = Math.min(naturalNumber(query.page) ?? 1, LAST_PAGE_EVER)
  return { page, perPage, offset: (page - 1) * perPage, limit: perPage }
}

function naturalNumber(sent: unknown): number | undefined {
  const text = Array.isArray(sent) ? sent.at(-1) : sent
  if (typeof text !== 'string' || !/^\d+$/.test(text)) return undefined
  return Number(text) || undefined
}
