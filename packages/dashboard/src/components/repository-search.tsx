import { SearchIcon } from '@primer/octicons-react'
import { Pagination } from '@primer/react'
import { type ChangeEvent, useEffect, useState } from 'react'
import type { Api } from '../api.ts'
import type { Repository } from '../api-types.ts'
import { pageNumber, useFilters } from '../routes.ts'
import { useResource } from '../use-resource.ts'

const TYPING_PAUSE_MS = 200

/**
 * Searches repositories on the server, page by page. `shown` stays the last page until the next one is loaded; `input` has the
 * properties of the text field. The text and the page are in the URL.
 */
export function useRepositorySearch(read: Api['repositories'], perPage: number) {
  const [filters, setFilters] = useFilters({ q: '', page: '1' })
  const page = pageNumber(filters.page)
  const q = useDebounced(filters.q.trim(), TYPING_PAUSE_MS)
  const { response, failure, isLoading, refresh } = useResource<Repository[]>(
    (options) => read({ ...options, q, page, perPage }),
    JSON.stringify([q, page]),
  )
  const [found, setFound] = useState(response)
  useEffect(() => {
    if (response) setFound(response)
  }, [response])
  const shown = response ?? found
  const pages = Math.ceil((shown?.total ?? 0) / perPage)
  const input = {
    type: 'search' as const,
    'aria-label': 'Find a repository',
    placeholder: 'Find a repository',
    leadingVisual: SearchIcon,
    loading: isLoading && found !== undefined,
    value: filters.q,
    onChange(event: ChangeEvent<HTMLInputElement>) {
      setFilters({ q: event.target.value, page: '1' })
    },
  }
  const setPage = (next: number) => setFilters({ page: String(next) })
  return { q, page, setPage, pages, response, shown, failure, isLoading, refresh, input }
}

interface PagesProps {
  pages: number
  page: number
  setPage(page: number): void
}

/** Links to the other pages, if there are any. */
export function Pages({ pages, page, setPage }: PagesProps) {
  if (pages <= 1) return null
  return (
    <Pagination
      pageCount={pages}
      currentPage={page}
      marginPageCount={1}
      surroundingPageCount={1}
      onPageChange={(event, next) => {
        event.preventDefault()
        setPage(next)
      }}
    />
  )
}

/** Returns the value once it has not changed for `ms`. */
function useDebounced(value: string, ms: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
