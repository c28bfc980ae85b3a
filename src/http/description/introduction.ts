import { API_VERSIONS, DEFAULT_VERSION } from '../middleware/api-headers.ts'
import { type MediaTypeOptions, previewTypeOf } from '../middleware/media-type.ts'
import type { Tag } from './operation.ts'

export const TAGS: { name: Tag; description: string }[] = [
  { name: 'Migrations', description: 'Start and follow migrations, and list their repositories.' },
  { name: 'Archives', description: 'Download and delete the archives of exported migrations.' },
  { name: 'Schedules', description: 'Migrations that are started every day or every week.' },
  {
    name: 'Organizations',
    description: 'Organizations of the caller, and the same operations on their migrations.',
  },
  {
    name: 'Repositories',
    description: 'Repositories in their current state, their owners and their licences.',
  },
  {
    name: 'Webhooks',
    description: 'Addresses that are told when migrations end, and the log of what they were sent.',
  },
  { name: 'Caller', description: 'The current account and its rate limit.' },
  { name: 'Operator', description: 'The state of the whole service, for `site_admin` accounts.' },
  { name: 'Service', description: 'Health, metrics and documentation. No token is needed.' },
]

/** What a reader must know before any operation; paragraphs of Markdown. */
export function introduction(mediaType: MediaTypeOptions): string {
  const { vendor } = mediaType
  return [
    'Self-service export and move for git hosts: users export their repositories into one archive. The API is compatible ' +
      "with GitHub's User Migrations API, so clients of that API work here.",
    'Operations need a token, except those of the service itself and those on public repositories: `authorization: bearer TOKEN`, or `token TOKEN`. ' +
      'The operator of the host creates one with `godwit token add LOGIN`. Every request needs a `user-agent` header.',
    `Some operations are part of a preview. ${aboutPreview(mediaType)}`,
    `\`x-${vendor}-api-version\` can select a version of the API: ${API_VERSIONS.map(code).join(' or ')}. ` +
      `The default is ${code(DEFAULT_VERSION)}.`,
    'Lists have pages of 30 entries; `per_page` can be up to 100. The `link` header has the addresses of the other pages. ' +
      'Send the `etag` of an answer as `if-none-match`: while nothing has changed, the answer is 304 and does not count. ' +
      'Every GET also works as HEAD, and every path of the API also works below `/api/v3`.',
    `Answers have the request ID in \`x-${vendor}-request-id\`, media type and version in \`x-${vendor}-media-type\` and ` +
      `\`x-${vendor}-api-version-selected\`, and the rate limit in \`x-ratelimit-limit\`, \`-remaining\`, ` +
      '`-used`, `-reset` and `-resource`.',
  ].join('\n\n')
}

/** Whether the operator made the preview a condition. */
export function aboutPreview({ vendor, preview }: MediaTypeOptions): string {
  const type = code(previewTypeOf(vendor))
  return preview === 'required'
    ? `Send \`accept:\` ${type}; without it the answer is 415 (unless the server runs with \`--preview optional\`).`
    : `Clients may send \`accept:\` ${type}; this server does not need it (\`--preview optional\`).`
}

const code = (text: string) => `\`${text}\``
