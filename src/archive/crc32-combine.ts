/*
 * The CRC of A followed by B is (CRC of A) · x^8n + (CRC of B), where n is the length of B in bytes, modulo the CRC's polynomial over
 * GF(2). Polynomials are bit-reversed as in zlib: the highest bit is x^0.
 */
const POLYNOMIAL = 0xedb88320
const ONE = 0x80000000
const X_TO_THE_8 = 0x00800000

/** Returns the CRC-32 of the concatenation of a and b. Is fastest for a `lengthOfB` that is the same as in the last call. */
export function crc32Combine(crcOfA: number, crcOfB: number, lengthOfB: number): number {
  if (lengthOfB !== last.length) last = { length: lengthOfB, shift: shiftOf(lengthOfB) }
  return (multiply(last.shift, crcOfA) ^ crcOfB) >>> 0
}

let last = { length: 0, shift: ONE }

function shiftOf(length: number): number {
  let shift = ONE
  let square = X_TO_THE_8
  // Divides instead of shifting, because lengths may have more than 32 bits.
  for (let rest = length; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) shift = multiply(shift, square)
    square = multiply(square, square)
  }
  return shift
}

function multiply(a: number, b: number): number {
  let product = 0
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= b
    b = b & 1 ? (b >>> 1) ^ POLYNOMIAL : b >>> 1
  }
  return product >>> 0
}
