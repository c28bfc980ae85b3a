import { readFile } from 'node:fs/promises'
import { codeOf } from '../../lib/errno.ts'

/** Why a token cannot be used; never says anything of what is in the file. */
export class UnusableToken extends Error {
  override name = 'UnusableToken'
}

/** The token of the forge from its file, where an editor may have left spaces and an empty line. */
export async function readForgeToken(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UnusableToken(`cannot read the forge's token from ${file}: ${codeOf(error)}`)
  })
  const token = text.trim()
  if (token === '') throw new UnusableToken(`the file of the forge's token is empty: ${file}`)
  if (!/^[\x21-\x7e]{1,1024}$/.test(token))
    throw new UnusableToken(`the file of the forge's token holds more than a token: ${file}`)
  return token
}
