import { boolean } from '@godwit/contract/schemas/schema'
import type { FastifyInstance } from 'fastify'
import spdx from 'spdx-license-list'
import * as openapi from '../../description/operation.ts'
import { sendJsonWithEtag } from '../../middleware/json-response.ts'
import { sendPageOf } from '../../middleware/pagination.ts'
import { requireFound, type WithQuery } from '../../middleware/request.ts'
import { COMMON_LICENSES, licenseJson, licenseTextJson } from '../../rendering/license-json.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'

const routes = openapi.routes('Repositories', { config: { anonymous: true } })({
  'licenses/get-all-commonly-used': {
    summary: 'List the commonly used licences',
    query: {
      featured: boolean.describe(`Only the most used licences. ${openapi.INVALID_IGNORED}`),
    },
    responses: openapi.pageResponses('license', 'licenses'),
  },
  'licenses/get': {
    summary: 'Get a licence and its text',
    description: 'Any licence of the SPDX list.',
    responses: openapi.recordResponses('The licence.', 'license-text'),
  },
})

/** Adds the target of the `url` of every licence, with its text from the SPDX list. */
export function addLicenseRoutes(app: FastifyInstance, { rendering }: ServerDependencies): void {
  const { addresses } = rendering
  const idOf = new Map(Object.keys(spdx).map((id) => [id.toLowerCase(), id]))

  const list = routes['licenses/get-all-commonly-used']
  app.get<WithQuery>('/licenses', list, async ({ query }, reply) => {
    const all = Object.entries(COMMON_LICENSES)
    const shown = query.featured === 'true' ? all.filter(([, { featured }]) => featured) : all
    return sendPageOf(reply, addresses, shown, ([id]) => licenseJson(id, addresses))
  })

  type ById = { Params: { license: string } }
  app.get<ById>('/licenses/:license', routes['licenses/get'], async ({ params }, reply) => {
    const id = requireFound(idOf.get(params.license.toLowerCase()))
    return sendJsonWithEtag(reply, licenseTextJson(id, await textOf(id), addresses))
  })
}

/** Loads the text on demand: all texts together are several megabytes. */
async function textOf(spdxId: string): Promise<string> {
  const { default: license } = await import(`spdx-license-list/licenses/${spdxId}.json`, {
    with: { type: 'json' },
  })
  return license.licenseText
}
