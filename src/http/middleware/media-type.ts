import { memoize } from '../../lib/memoize.ts'
import { previewMissing, unacceptable } from './refusals.ts'

export interface MediaTypeOptions {
  vendor: string
  preview: 'required' | 'optional'
}

interface Operation {
  previewed?: boolean
  /** Types beside JSON that it can answer in. */
  alsoAccepts?: readonly string[]
}

export interface MediaTypes {
  /**
   * What is spoken on this request, as `x-<vendor>-media-type` puts it. Refuses an `accept` that leaves out JSON, and
   * on a previewed operation, where the preview is required, one that leaves out the preview.
   */
  choose(accept: string | undefined, operation: Operation): string
}

export const previewTypeOf = (vendor: string) =>
  `application/vnd.${vendor.toLowerCase()}.wyandotte-preview+json`

export function mediaTypes({ vendor, preview }: MediaTypeOptions): MediaTypes {
  const ours = `application/vnd.${vendor.toLowerCase()}`
  const previewType = previewTypeOf(vendor)
  /** `+json` may be left out of a type that names no other format. */
  const shortOnes = new Map(
    [ours, `${ours}.v3`, previewType.replace('+json', '')].map((type) => [type, `${type}+json`]),
  )
  const isJson = (type: string) =>
    ['*/*', 'application/*', 'application/json', `${ours}+json`].includes(type) ||
    (type.startsWith(`${ours}.`) && type.endsWith('+json'))

  return {
    choose(accept, { previewed = false, alsoAccepts = [] }) {
      const accepted = acceptedTypes(accept).map((type) => shortOnes.get(type) ?? type)
      if (previewed && preview === 'required' && !accepted.includes(previewType)) {
        throw previewMissing()
      }
      const best = accepted.find((type) => isJson(type) || alsoAccepts.includes(type))
      if (best === undefined) throw unacceptable(accept ?? '')
      const spoken =
        best === previewType || (previewed && preview === 'required') ? 'wyandotte-preview' : 'v3'
      return `${vendor}.${spoken}; format=json`
    },
  }
}

/** The types of an `accept` header, dearest first; what has q=0 is not accepted at all. None sent means any. */
export function acceptedTypes(accept: string | undefined): readonly string[] {
  return accept?.trim() ? typesOf(accept) : ['*/*']
}

/** Whether one of these comes before JSON. Browsers name HTML before all else; programs name JSON, or anything. */
export function prefersOver(accept: string | undefined, types: readonly string[]): boolean {
  const first = acceptedTypes(accept).find((type) => types.includes(type) || type.endsWith('json'))
  return first !== undefined && types.includes(first)
}

const MAX_READ = 1000

/** Clients send the same one again and again. */
const typesOf = memoize(MAX_READ, (accept: string): readonly string[] =>
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
