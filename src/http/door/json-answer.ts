import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Text } from '../migrations/migration-text.ts'
import { keepBytes } from './kept-bytes.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const MOST_KEPT_BYTES = 32 * 1024 * 1024
/** With more repositories than this an answer is sent while it is rendered, and never held. */
const MOST_REPOSITORIES_HELD = 1000

export function answer(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.header('content-type', JSON_TYPE).send(JSON.stringify(body))
}

/** What a body is made from, and how. */
interface Rendered {
  repositoryCount: number
  text: () => Text
}

/** Large bodies are streamed; the others are rendered whole. */
export async function answerText(
  reply: FastifyReply,
  { repositoryCount, text }: Rendered,
): Promise<FastifyReply> {
  reply.header('content-type', JSON_TYPE)
  if (repositoryCount <= MOST_REPOSITORIES_HELD) return reply.send(await wholeOf(text()))
  // The length of what is streamed is not known beforehand, so there is nothing to render for its headers.
  const isHead = reply.request.method === 'HEAD'
  return reply.send(Readable.from(isHead ? [] : bytesOf(text()), { objectMode: false }))
}

interface KnownAnswer extends Rendered {
  /** All that the body depends on beside the address: the same again means the same bytes again. */
  madeFrom: MadeFrom
}

export type KeepingAnswer = (
  request: FastifyRequest,
  reply: FastifyReply,
  known: KnownAnswer,
) => Promise<FastifyReply>

/**
 * Answers that are rendered once and sent again while they hold. What makes the validator makes the key too, and it is read
 * from the database at every request: so there is nothing that could be stale.
 */
export function keepAnswers(): (place: string) => KeepingAnswer {
  const kept = keepBytes(MOST_KEPT_BYTES)
  return (place) => async (request, reply, known) => {
    const { madeFrom, repositoryCount, text } = known
    const etag = validatorOf(madeFrom)
    reply.header('etag', etag)
    if (matches(request.headers['if-none-match'], etag)) return notModified(reply)
    if (repositoryCount > MOST_REPOSITORIES_HELD) return answerText(reply, known)
    reply.header('content-type', JSON_TYPE)
    return reply.send(await kept.getOrMake(`${place} ${etag}`, () => wholeOf(text())))
  }
}

type MadeFrom = readonly (string | number | boolean)[]

/**
 * Gives the answer a validator made from what it will be rendered from, and tells whether the client has it already. Asked
 * before anything dear is read.
 */
export function isKnown(request: FastifyRequest, reply: FastifyReply, madeFrom: MadeFrom): boolean {
  const etag = validatorOf(madeFrom)
  reply.header('etag', etag)
  return matches(request.headers['if-none-match'], etag)
}

export function notModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send()
}

/** Weak: the bytes may differ in what a client does not care about. */
function validatorOf(madeFrom: MadeFrom): string {
  const plain = madeFrom.join('.')
  const isTag = plain.length <= LONGEST_TAG && PLAIN_TAG.test(plain)
  return `W/"${isTag ? plain : hash('sha256', JSON.stringify(madeFrom), 'base64url')}"`
}

const LONGEST_TAG = 64
/** Numbers, words and digests: what has nothing else in it means one thing only when it is joined. */
const PLAIN_TAG = /^[\w.-]+$/

function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const opaque = etag.slice(2)
  return header.split(',').some((sent) => {
    const tag = sent.trim()
    return tag === '*' || tag === etag || tag === opaque
  })
}

async function wholeOf(text: Text): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(bytesOf(text)))
}

/** Bytes and no strings: they are kept outside the heap, and sent without being copied. */
async function* bytesOf(text: Text): AsyncGenerator<Buffer> {
  for await (const piece of text) yield Buffer.from(piece)
}
