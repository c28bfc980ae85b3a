import { Pagination } from '@primer/react'
import type { ApiResponse } from '../api-calls.ts'
import { goTo } from '../routes.ts'
import { Problem } from './problem.tsx'

interface ListPagesProps {
  response: ApiResponse<readonly unknown[]>
  number: number
  perPage: number
  linkTo(number?: number): string
}

/** The pagination of a list, or a link to the first page if this page does not exist. */
export function ListPages({ response, number, perPage, linkTo }: ListPagesProps) {
  return (
    <>
      {response.data.length === 0 && number > 1 && (
        <Problem
          isPart
          failure={{ kind: 'not-found', message: 'This page does not exist.' }}
          back={{ href: linkTo(), text: 'First page' }}
        />
      )}
      {response.total > perPage && (
        <Pagination
          pageCount={Math.ceil(response.total / perPage)}
          currentPage={number}
          hrefBuilder={linkTo}
          onPageChange={(event, page) => {
            event.preventDefault()
            goTo(linkTo(page))
          }}
        />
      )}
    </>
  )
}
