import type { ByteRange } from '../../blobs/blob-store.ts'

/**
 * The one range that a `range` header asks for: undefined where there is none that we serve (several, or another unit,
 * in which case the whole is the right answer), null where it lies outside.
 */
export function byteRange(
  header: string | undefined,
  length: number,
): ByteRange | null | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') {
    const suffix = Math.min(Number(last), length)
    return suffix === 0 ? null : { start: length - suffix, end: length }
  }
  const start = Number(first)
  const end = last === '' ? length : Math.min(Number(last) + 1, length)
  if (last !== '' && Number(last) < start) return undefined
  return start < length ? { start, end } : null
}
