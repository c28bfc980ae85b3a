import { API_VERSIONS, DEFAULT_VERSION } from '../door/manners.ts'
import { type MediaTypeOptions, previewTypeOf } from '../door/media-type.ts'
import type { Tag } from './operation.ts'

export const TAGS: { name: Tag; description: string }[] = [
  { name: 'Migrations', description: 'Start one, follow it, and see what it covers.' },
  { name: 'Archives', description: 'What an exported migration has to download.' },
  { name: 'Caller', description: 'Who is asking, and how often they still may.' },
  { name: 'Operator', description: 'The whole service, for accounts that are `site_admin`.' },
  { name: 'Service', description: 'For load balancers and readers. No token is asked for.' },
]

/** What a reader must know before any operation; paragraphs of Markdown. */
export function introduction(mediaType: MediaTypeOptions): string {
  const { vendor } = mediaType
  return [
    "Carries a person's repositories out of a git host: all of them, in one archive, nothing dropped. It speaks GitHub's " +
      'User Migrations API, so that clients made for that work here.',
    'Every operation but those of the service itself asks for a token: `authorization: bearer TOKEN`, or `token TOKEN`. ' +
      'The operator of the host makes one by `godwit token add LOGIN`. A request also names its sender in `user-agent`.',
    `Some operations are part of a preview. ${aboutPreview(mediaType)}`,
    `\`x-${vendor}-api-version\` may name a version of the API: ${API_VERSIONS.map(code).join(' or ')}. ` +
      `Without it, ${code(DEFAULT_VERSION)} answers.`,
    'Lists come in pages of 30; `per_page` asks for up to 100, and the `link` header leads to the others. Answers that have ' +
      'an `etag` can be asked for again with `if-none-match`, which is free while nothing has changed. Every GET can be a ' +
      'HEAD, and every path of the API answers under `/api/v3` as well.',
    `Answers bear the id of the request in \`x-${vendor}-request-id\`, what was spoken in \`x-${vendor}-media-type\` and ` +
      `\`x-${vendor}-api-version-selected\`, and how often the caller may still ask in \`x-ratelimit-limit\`, \`-remaining\`, ` +
      '`-used`, `-reset` and `-resource`.',
  ].join('\n\n')
}

/** Whether the operator made the preview a condition. */
export function aboutPreview({ vendor, preview }: MediaTypeOptions): string {
  const type = code(previewTypeOf(vendor))
  return preview === 'required'
    ? `Ask for it by \`accept:\` ${type}; without that the answer is 415. (\`--preview optional\` lifts this.)`
    : `It may be asked for by \`accept:\` ${type}; this server answers without as well (\`--preview optional\`).`
}

const code = (text: string) => `\`${text}\``
