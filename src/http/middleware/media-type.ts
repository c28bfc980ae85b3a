import { memoize } from '../../lib/memoize.ts'
import { previewMissing, unacceptable } from './http-errors.ts'

export interface MediaTypeOptions {
  vendor: string
  preview: 'required' | 'optional'
}

interface Operation {
  previewed?: boolean
  /** Types other than JSON that the operation can respond with. */
  alsoAccepts?: readonly string[]
}

export const previewTypeOf = (vendor: string) =>
  `application/vnd.${vendor.toLowerCase()}.wyandotte-preview+json`

/**
 * Returns a function that chooses the media type of a response, as in `x-<vendor>-media-type`. It throws 415 if `accept` excludes
 * JSON, or lacks the preview type that the operation requires.
 */
export function mediaTypeChooser({ vendor, preview }: MediaTypeOptions) {
  const ours = `application/vnd.${vendor.toLowerCase()}`
  const previewType = previewTypeOf(vendor)
  /** `+json` may be omitted from these types. */
  const withJson = new Map(
    [ours, `${ours}.v3`, previewType.replace('+json', '')].map((type) => [type, `${type}+json`]),
  )
  const isJson = (type: string) =>
    ['*/*', 'application/*', 'application/json', `${ours}+json`].includes(type) ||
    (type.startsWith(`${ours}.`) && type.endsWith('+json'))

  return (accept: string | undefined, { previewed = false, alsoAccepts = [] }: Operation) => {
    const needsPreview = previewed && preview === 'required'
    const accepted = acceptedTypes(accept).map((type) => withJson.get(type) ?? type)
    if (needsPreview && !accepted.includes(previewType)) throw previewMissing()
    const best = accepted.find((type) => isJson(type) || alsoAccepts.includes(type))
    if (best === undefined) throw unacceptable(accept ?? '')
    const version = best === previewType || needsPreview ? 'wyandotte-preview' : 'v3'
    return `${vendor}.${version}; format=json`
  }
}

/** Returns the types of an `accept` header by descending weight, without those of q=0. A missing header accepts any type. */
export function acceptedTypes(accept: string | undefined): readonly string[] {
  return accept?.trim() ? typesOf(accept) : ['*/*']
}

/** Whether the client prefers one of these types to JSON. Browsers put HTML first; programs put JSON first, or accept anything. */
export function prefersOver(accept: string | undefined, types: readonly string[]): boolean {
  const first = acceptedTypes(accept).find((type) => types.includes(type) || type.endsWith('json'))
  return first !== undefined && types.includes(first)
}

const MAX_CACHED_HEADERS = 1000

/** Cached, because clients send the same header with every request. */
const typesOf = memoize(MAX_CACHED_HEADERS, (accept: string): readonly string[] =>
  accept
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
      const q = parameters.find((parameter) => parameter.startsWith('q='))
      const weight = q === undefined ? 1 : Number(q.slice(2))
      return { type, weight: Number.isFinite(weight) ? weight : 1 }
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ type }) => type),
)
