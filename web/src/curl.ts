import { API_ADDRESS } from './api.ts'

interface Command {
  path: string
  method?: 'POST' | 'DELETE'
  body?: unknown
  /** Follow to the archive and keep it under this name. */
  output?: string
}

/** The same call for a shell. The token is named, never written out. */
export function curl(mediaType: string, { path, method, body, output }: Command): string {
  return [
    'curl',
    ...(output === undefined ? [] : [`--location --output ${output}`]),
    ...(method === undefined || body !== undefined ? [] : [`--request ${method}`]),
    '--header "authorization: bearer $GODWIT_TOKEN"',
    `--header 'accept: ${mediaType}'`,
    ...(body === undefined ? [] : [`--data ${quoted(JSON.stringify(body))}`]),
    quoted(`${API_ADDRESS}${path}`),
  ].join(' \\\n  ')
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
