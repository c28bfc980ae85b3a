import type { FastifyInstance } from 'fastify'
import spdx from 'spdx-license-list'
import { answerPageOf } from '../../answer-page.ts'
import { answerIfChanged } from '../../middleware/json-answer.ts'
import { found } from '../../middleware/named-in-path.ts'
import type { ServerParts } from '../../server-parts.ts'
import { licenseJson, licenseTextJson } from './license-json.ts'
import { getLicense, listLicenses } from './license-operations.ts'
import { COMMON_LICENSES } from './license-rules.ts'

const config = { anonymous: true }

/** Where the `url` of every licence leads. The texts are SPDX's, each read when it is asked for. */
export function licenses(
  app: FastifyInstance,
  { rendering }: Pick<ServerParts, 'rendering'>,
): void {
  const { addresses } = rendering
  const idOf = new Map(Object.keys(spdx).map((id) => [id.toLowerCase(), id]))

  app.get<{ Querystring: Record<string, unknown> }>(
    '/licenses',
    { config, schema: listLicenses },
    async (request, reply) => {
      const isFeatured = request.query.featured === 'true'
      const all = Object.entries(COMMON_LICENSES).filter(
        ([, { featured }]) => featured || !isFeatured,
      )
      return answerPageOf(request, reply, addresses, all, ([id]) => licenseJson(id, addresses))
    },
  )

  app.get<{ Params: { license: string } }>(
    '/licenses/:license',
    { config, schema: getLicense },
    async (request, reply) => {
      const id = found(idOf.get(request.params.license.toLowerCase()))
      return answerIfChanged(request, reply, licenseTextJson(id, await textOf(id), addresses))
    },
  )
}

/** All of them together are megabytes; one is some kilobytes. */
async function textOf(spdxId: string): Promise<string> {
  const { default: license } = await import(`spdx-license-list/licenses/${spdxId}.json`, {
    with: { type: 'json' },
  })
  return license.licenseText
}
