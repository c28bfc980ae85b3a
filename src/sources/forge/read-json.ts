import { ForgeRefused } from './forge-errors.ts'
import type { HttpAnswer } from './http-answer.ts'

/** The largest answer that is taken: a page of 50 issues is rarely a hundredth of it. */
const MAX_BYTES = 64 * 1024 * 1024

/** The body ended before its end. */
export class CutBody extends Error {
  override name = 'CutBody'
}

/**
 * The body of an answer as JSON. What is no JSON at all is a page of something else, and will be next time; JSON that breaks off
 * is an answer that got lost on its way. `alive` is called with every piece.
 */
export async function readJson(
  answer: HttpAnswer,
  address: string,
  alive: () => void,
): Promise<unknown> {
  const where = address.split('?')[0]
  const text = await readText(answer, `${where}`, alive)
  const type = answer.header('content-type') ?? ''
  if (/html/i.test(type) || /^\s*</.test(text))
    throw new ForgeRefused(
      answer.status,
      `${where} answers with a web page instead of JSON: check the address of the forge, and what stands in front of it`,
    )
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CutBody(`${where} answers with JSON that breaks off or is damaged`, { cause: error })
  }
}

async function readText(answer: HttpAnswer, where: string, alive: () => void): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of answer.body) {
    alive()
    bytes += piece.byteLength
    if (bytes > MAX_BYTES)
      throw new ForgeRefused(
        answer.status,
        `${where} answers with more than ${MAX_BYTES / 1024 / 1024} MiB`,
      )
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
