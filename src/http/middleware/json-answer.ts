import { createHash, hash } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { nextTurn } from '../../lib/turns.ts'
import type { HeavyRequests } from './heavy-requests.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** With more repositories than this an answer counts as large. A migration is then sent while it is rendered, and never held. */
const MAX_REPOSITORIES_HELD = 1000

export const isLarge = (repositoryCount: number): boolean => repositoryCount > MAX_REPOSITORIES_HELD

export function answer(reply: FastifyReply, body: unknown): FastifyReply {
  return sendJson(reply, JSON.stringify(body))
}

interface Validated {
  /** What the headers tell beside the body. */
  alsoMadeFrom?: EtagParts
  /** Puts something into the body that its validator must not know of: a credential, which is another one every minute. */
  complete?: (json: Buffer) => Buffer
}

/** With a validator made from the body; nothing else where the client has it already. */
export function answerIfChanged(
  request: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
  { alsoMadeFrom = [], complete }: Validated = {},
): FastifyReply {
  const text = JSON.stringify(body)
  if (answerNotModified(request, reply, [...alsoMadeFrom, text])) return reply
  return sendJson(reply, complete ? complete(Buffer.from(text)) : text)
}

/** The same for an object with a long list of repositories, which is rendered with turns for others in between. */
export async function answerLongIfChanged(
  request: FastifyRequest,
  reply: FastifyReply,
  body: WithRepositories,
): Promise<FastifyReply> {
  const pieces = await piecesOfLong(body)
  const digest = createHash('sha256')
  for (const piece of pieces) digest.update(piece)
  if (answerNotModified(request, reply, [digest.digest('base64url')])) return reply
  return sendPieces(reply, pieces)
}

/** The same without a validator. */
export async function answerLong(
  reply: FastifyReply,
  body: WithRepositories,
): Promise<FastifyReply> {
  return sendPieces(reply, await piecesOfLong(body))
}

interface WithRepositories {
  repositories: readonly unknown[]
}

const PIECE_LENGTH = 64 * 1024
const EMPTY_LIST = '"repositories":[]'

async function piecesOfLong(body: WithRepositories): Promise<string[]> {
  const shell = JSON.stringify({ ...body, repositories: [] })
  // Within a string its quotes would be escaped.
  const at = shell.indexOf(EMPTY_LIST) + EMPTY_LIST.length - 1
  const pieces: string[] = []
  let piece = shell.slice(0, at)
  for (const [index, repository] of body.repositories.entries()) {
    piece += `${index === 0 ? '' : ','}${JSON.stringify(repository)}`
    if (piece.length < PIECE_LENGTH) continue
    pieces.push(piece)
    piece = ''
    await nextTurn()
  }
  pieces.push(piece + shell.slice(at))
  return pieces
}

const sendPieces = (reply: FastifyReply, pieces: readonly Piece[]): FastifyReply =>
  sendAtOnce(reply.header('content-type', JSON_TYPE), pieces)

const sendJson = (reply: FastifyReply, json: string | Buffer): FastifyReply =>
  reply.header('content-type', JSON_TYPE).send(json)

export type Piece = string | Buffer

/** JSON of many, each with a comma before it: to be had as a whole, or some at a time. */
export interface Listed {
  whole(): Promise<readonly Piece[]>
  inBatches(): AsyncIterable<readonly Piece[]>
}

/** What follows each other in a body. */
export type Body = readonly (string | Listed)[]

/** What a body is made from, and how. */
interface Rendered {
  repositoryCount: number
  body: () => Body
  /** Limits large answers. */
  large: HeavyRequests
}

/** Large bodies are streamed; the others are put together and sent at once. */
export async function answerText(
  reply: FastifyReply,
  { repositoryCount, body, large }: Rendered,
): Promise<FastifyReply> {
  if (!isLarge(repositoryCount)) return sendPieces(reply, await piecesOf(body()))
  // The length of what is streamed is not known beforehand, so there is nothing to render for its headers.
  const isHead = reply.request.method === 'HEAD'
  if (!isHead) await large.begin(reply.request, reply)
  reply.header('content-type', JSON_TYPE)
  return reply.send(Readable.from(isHead ? [] : bytesOf(body()), { objectMode: false }))
}

interface EtagAnswer extends Rendered {
  /** All that the body depends on beside the address: the same again means the same bytes again. */
  etagParts: EtagParts
}

/** Answers with an ETag, and without a body where the client has it already. */
export async function answerWithEtag(
  request: FastifyRequest,
  reply: FastifyReply,
  known: EtagAnswer,
): Promise<FastifyReply> {
  if (answerNotModified(request, reply, known.etagParts)) return reply
  return answerText(reply, known)
}

export type EtagParts = readonly (string | number | boolean)[]

/**
 * Gives the answer a validator made from what it will be rendered from; where the client has it already, that is the answer.
 * Asked before anything expensive is read.
 */
export function answerNotModified(
  request: FastifyRequest,
  reply: FastifyReply,
  etagParts: EtagParts,
): boolean {
  const etag = etagOf(etagParts)
  reply.header('etag', etag)
  const isKnown = matches(request.headers['if-none-match'], etag)
  // Sent nothing at all, fastify would announce a length of 0 to who asks for the head alone.
  if (isKnown) reply.code(304).send(request.method === 'HEAD' ? Readable.from([]) : undefined)
  return isKnown
}

/** Weak: the bytes may differ in what a client does not care about. */
function etagOf(etagParts: EtagParts): string {
  const plain = etagParts.join('.')
  const isTag = plain.length <= LONGEST_TAG && PLAIN_TAG.test(plain)
  return `W/"${isTag ? plain : hash('sha256', JSON.stringify(etagParts), 'base64url')}"`
}

const LONGEST_TAG = 128
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

/** In their order; texts that follow each other are one piece. */
async function piecesOf(body: Body): Promise<Piece[]> {
  const pieces: Piece[] = []
  let text = ''
  function add(piece: Piece): void {
    if (typeof piece === 'string') {
      text += piece
      return
    }
    if (text !== '') pieces.push(text)
    text = ''
    pieces.push(piece)
  }
  for (const part of body) {
    if (typeof part === 'string') {
      add(part)
      continue
    }
    const listed = await part.whole()
    // By number: a copy without the first comma would cost more than all the rest here.
    for (let at = 0; at < listed.length; at++)
      add(at === 0 ? withoutComma(listed[at]!) : listed[at]!)
  }
  if (text !== '') pieces.push(text)
  return pieces
}

/**
 * In one write, and without a copy of what is kept: a copy costs more than to name each piece. Fastify takes one buffer only,
 * so its headers are written here.
 */
function sendAtOnce(reply: FastifyReply, pieces: readonly Piece[]): FastifyReply {
  const [first = ''] = pieces
  if (pieces.length <= 1 && typeof first === 'string') return reply.send(first)
  let length = 0
  for (const piece of pieces)
    length += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  const headers = reply.header('content-length', length).getHeaders()
  reply.hijack()
  const { raw } = reply
  raw.writeHead(reply.statusCode, headers as OutgoingHttpHeaders)
  if (reply.request.method === 'HEAD') raw.end()
  else {
    raw.cork()
    for (let at = 0; at < pieces.length - 1; at++) raw.write(pieces[at])
    raw.end(pieces.at(-1))
    raw.uncork()
  }
  return reply
}

async function* bytesOf(body: Body): AsyncGenerator<Buffer> {
  for (const part of body) {
    if (typeof part === 'string') yield Buffer.from(part)
    else yield* bytesOfListed(part)
  }
}

async function* bytesOfListed(listed: Listed): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const some of listed.inBatches()) {
    if (some.length === 0) continue
    const bytes = Buffer.concat(some.map(bytesOfPiece))
    yield isFirst ? bytes.subarray(1) : bytes
    isFirst = false
  }
}

const bytesOfPiece = (piece: Piece): Buffer =>
  typeof piece === 'string' ? Buffer.from(piece) : piece

const withoutComma = (piece: Piece): Piece =>
  typeof piece === 'string' ? piece.slice(1) : piece.subarray(1)
