import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../repositories/addresses.ts'
import { answerIfChanged } from './middleware/json-answer.ts'
import { setLinkHeader } from './middleware/link-header.ts'
import { pagingOf } from './middleware/paging.ts'

type ListRequest = FastifyRequest<{ Querystring: Record<string, unknown> }>

/** Sends one page of a list that the store has already cut. `total` is the length of the whole list. */
export function answerPage(
  request: ListRequest,
  reply: FastifyReply,
  addresses: Addresses,
  { total, body }: { total: number; body: readonly unknown[] },
): FastifyReply {
  setPaginationHeaders(request, reply, addresses, total)
  reply.header('x-total-count', total)
  return answerIfChanged(request, reply, body, { alsoMadeFrom: [total] })
}

/** Sends the page of a complete list that the query asks for. */
export function answerPageOf<T>(
  request: ListRequest,
  reply: FastifyReply,
  addresses: Addresses,
  all: readonly T[],
  render: (item: T) => unknown,
): FastifyReply {
  const { offset, limit } = setPaginationHeaders(request, reply, addresses, all.length)
  const body = all.slice(offset, offset + limit).map((item) => render(item))
  return answerIfChanged(request, reply, body, { alsoMadeFrom: [all.length] })
}

function setPaginationHeaders(
  request: ListRequest,
  reply: FastifyReply,
  addresses: Addresses,
  total: number,
) {
  const paging = pagingOf(request.query)
  setLinkHeader(request, reply, { addresses, paging, total })
  return paging
}
