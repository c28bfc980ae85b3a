import type { FastifyInstance } from 'fastify'
import spdx from 'spdx-license-list'
import { boolean } from '../../../wire/schema.ts'
import * as openapi from '../../description/operation.ts'
import { sendJsonWithEtag } from '../../middleware/json-response.ts'
import { sendPageOf } from '../../middleware/pagination.ts'
import { requireFound } from '../../middleware/path-parameters.ts'
import type { ServerParts } from '../../server-parts.ts'
import { COMMON_LICENSES, licenseJson, licenseTextJson } from './license-json.ts'

type WithQuery = { Querystring: Record<string, unknown> }

const docs = openapi.operations('Repositories', {
  'licenses/get-all-commonly-used': {
    summary: 'List the commonly used licences',
    security: openapi.OPTIONAL_TOKEN,
    parameters: [
      openapi.inQuery(
        'featured',
        boolean,
        `Only the most used licences. ${openapi.INVALID_IGNORED}`,
      ),
      ...openapi.PAGE_PARAMETERS,
    ],
    responses: openapi.pageResponses('license', 'licenses'),
  },
  'licenses/get': {
    summary: 'Get a licence and its text',
    description: 'Any licence of the SPDX list.',
    security: openapi.OPTIONAL_TOKEN,
    responses: openapi.recordResponses('The licence.', 'license-text'),
  },
})

const config = { anonymous: true }

/** Adds the target of the `url` of every licence, with its text from the SPDX list. */
export function addLicenseRoutes(
  app: FastifyInstance,
  { rendering }: Pick<ServerParts, 'rendering'>,
): void {
  const { addresses } = rendering
  const idOf = new Map(Object.keys(spdx).map((id) => [id.toLowerCase(), id]))

  app.get<WithQuery>(
    '/licenses',
    { config, schema: docs['licenses/get-all-commonly-used'] },
    async (request, reply) => {
      const onlyFeatured = request.query.featured === 'true'
      const all = Object.entries(COMMON_LICENSES).filter(
        ([, { featured }]) => featured || !onlyFeatured,
      )
      return sendPageOf(request, reply, addresses, all, ([id]) => licenseJson(id, addresses))
    },
  )

  app.get<{ Params: { license: string } }>(
    '/licenses/:license',
    { config, schema: docs['licenses/get'] },
    async (request, reply) => {
      const id = requireFound(idOf.get(request.params.license.toLowerCase()))
      return sendJsonWithEtag(request, reply, licenseTextJson(id, await textOf(id), addresses))
    },
  )
}

/** Loads the text on demand: all texts together are several megabytes. */
async function textOf(spdxId: string): Promise<string> {
  const { default: license } = await import(`spdx-license-list/licenses/${spdxId}.json`, {
    with: { type: 'json' },
  })
  return license.licenseText
}
