import { Pagination } from '@primer/react'
import type { Answer } from '../api-calls.ts'
import { goTo } from '../routes.ts'
import { Problem } from './problem.tsx'

interface ListPagesProps {
  answer: Answer<readonly unknown[]>
  number: number
  perPage: number
  linkTo(number?: number): string
}

/** The pagination of a list, or a link to the first page if this page does not exist. */
export function ListPages({ answer, number, perPage, linkTo }: ListPagesProps) {
  return (
    <>
      {answer.data.length === 0 && number > 1 && (
        <Problem
          isPart
          failure={{ kind: 'not-found', message: 'This page does not exist.' }}
          back={{ href: linkTo(), text: 'First page' }}
        />
      )}
      {answer.total > perPage && (
        <Pagination
          pageCount={Math.ceil(answer.total / perPage)}
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
