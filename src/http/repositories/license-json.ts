import type { components } from '@octokit/openapi-types'
import licenses from 'spdx-license-list'
import type { Addresses } from '../../repositories/addresses.ts'
import type * as wire from '../../wire/types.ts'
import { nodeId } from '../door/node-id.ts'

export function licenseJson(spdxId: string, addresses: Addresses) {
  const key = spdxId.toLowerCase()
  return {
    key,
    // The short GNU ids that this API speaks, such as GPL-3.0, bear SPDX's names of the longer ones.
    name: licenses[spdxId]?.name.replace(/ only$/, '') ?? spdxId,
    url: `${addresses.api}/licenses/${key}`,
    spdx_id: spdxId,
    node_id: nodeId('License', key),
    html_url: `https://spdx.org/licenses/${spdxId}.html`,
  } satisfies components['schemas']['nullable-license-simple'] & wire.License
}
