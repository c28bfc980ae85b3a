import { EXTENSION, string } from '../../wire/schema.ts'
import type { Operation } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { record } from '../description/usual-answers.ts'

const header = {
  name: 'x-godwit-session',
  in: 'header',
  required: true,
  description: 'Any value. Sent by the pages of this server; without it the cookie is ignored.',
  schema: string,
  example: '1',
}
const about = `For the pages of this server: a cookie that scripts cannot read takes the place of the token. ${EXTENSION}`

export const getSession = {
  operationId: 'session/get',
  tags: ['Caller'],
  summary: 'Get who is signed in with this browser',
  description: about,
  security: [],
  parameters: [header],
  responses: { 200: record('The session.', 'session') },
} satisfies Operation

export const openSession = {
  operationId: 'session/open',
  tags: ['Caller'],
  summary: 'Sign in with a browser',
  description: about,
  security: [],
  parameters: [header],
  body: {
    type: 'object',
    required: ['token'],
    properties: { token: { ...string, description: 'An access token.' } },
    examples: [{ token: 'gwt_…' }],
  },
  responses: {
    201: record('Signed in. The cookie is in `set-cookie`.', 'session'),
    401: refusal('unauthenticated'),
    403: refusal('forbidden'),
    422: refusal('invalid'),
  },
} satisfies Operation

export const closeSession = {
  operationId: 'session/close',
  tags: ['Caller'],
  summary: 'Sign out with a browser',
  description: about,
  security: [],
  parameters: [header],
  responses: { 204: { description: 'Signed out.' }, 403: refusal('forbidden') },
} satisfies Operation
