import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import type { Recorded } from './bare-server.ts'
import { SERVER } from './cores.ts'
import { type Server, startServer } from './process.ts'

const PRISM = new URL('peers/node_modules/.bin/prism', import.meta.url).pathname

interface Description {
  paths: Record<string, { get: { parameters: unknown; responses: Record<string, unknown> } }>
}

/**
 * Starts `prism mock` with one operation of Godwit's description, and Godwit's own response body as the example,
 * at `/mocked`.
 */
export async function startPrism(
  url: string,
  path: string,
  { body }: Recorded,
  directory: string,
): Promise<Server> {
  const described = (await (await fetch(`${url}/openapi.json`)).json()) as Description
  const isList = path.includes('/repositories')
  const { parameters: _, ...operation } =
    described.paths[`/user/migrations/{migration_id}${isList ? '/repositories' : ''}`]!.get
  const found = operation.responses['200'] as {
    content: { 'application/json': { schema: object } }
  }
  const { schema } = found.content['application/json']
  const example = JSON.parse(Buffer.from(body, 'base64').toString())
  const given = { ...found, content: { 'application/json': { schema, example } } }
  const paths = { '/mocked': { get: { ...operation, responses: { 200: given } } } }
  const description = join(directory, 'openapi.json')
  await writeFile(description, JSON.stringify({ ...described, paths }))
  const port = String(await freePort())
  const mock = [PRISM, 'mock', '--host', '127.0.0.1', '--port', port, description]
  return startServer([...SERVER, process.execPath, ...mock])
}
