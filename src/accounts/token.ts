import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32 // 190 bits
const CHECKSUM_LENGTH = 6
const SHAPE = /^gwt_[0-9A-Za-z]{38}$/

/**
 * Creates a token: `gwt_`, 32 random characters and their checksum. With the checksum, secret scanners recognize leaked tokens, and
 * invalid ones need no query.
 */
export function createToken(): string {
  let secret = ''
  for (let i = 0; i < SECRET_LENGTH; i++) secret += ALPHABET[randomInt(ALPHABET.length)]
  return `gwt_${secret}${checksum(secret)}`
}

export function looksLikeToken(text: string): boolean {
  return (
    SHAPE.test(text) && text.slice(-CHECKSUM_LENGTH) === checksum(text.slice(4, -CHECKSUM_LENGTH))
  )
}

/** A hash without salt is sufficient, since 190 random bits cannot be guessed. */
export function digestOf(token: string): string {
  return hash('sha256', token)
}

function checksum(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET[rest % ALPHABET.length] + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}
