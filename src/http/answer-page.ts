import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../repositories/addresses.ts'
import { answerIfChanged } from './middleware/json-answer.ts'
import { setLinkHeader } from './middleware/link-header.ts'
import { pagingOf } from './middleware/paging.ts'

type Asked = FastifyRequest<{ Querystring: Record<string, unknown> }>

/** A page that a store was asked for, with how many there are in all. */
export function answerPage(
  request: Asked,
  reply: FastifyReply,
  addresses: Addresses,
  { total, body }: { total: number; body: readonly unknown[] },
): FastifyReply {
  tellTotal(request, reply, addresses, total)
  reply.header('x-total-count', total)
  return answerIfChanged(request, reply, body, { alsoMadeFrom: [total] })
}

/** The page of a whole list that is asked for. */
export function answerPageOf<T>(
  request: Asked,
  reply: FastifyReply,
  addresses: Addresses,
  all: readonly T[],
  render: (each: T) => unknown,
): FastifyReply {
  const { offset, limit } = tellTotal(request, reply, addresses, all.length)
  const body = all.slice(offset, offset + limit).map((each) => render(each))
  return answerIfChanged(request, reply, body, { alsoMadeFrom: [all.length] })
}

function tellTotal(request: Asked, reply: FastifyReply, addresses: Addresses, total: number) {
  const paging = pagingOf(request.query)
  setLinkHeader(request, reply, { addresses, paging, total })
  return paging
}
