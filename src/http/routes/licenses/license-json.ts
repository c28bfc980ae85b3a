import type { components } from '@octokit/openapi-types'
import licenses from 'spdx-license-list'
import type { Addresses } from '../../../repositories/addresses.ts'
import type * as wire from '../../../wire/types.ts'
import { nodeId } from '../../middleware/node-id.ts'
import { COMMON_LICENSES } from './license-rules.ts'

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

const UNKNOWN = { permissions: [], conditions: [], limitations: [], featured: false }

export function licenseTextJson(spdxId: string, body: string, addresses: Addresses) {
  const simple = licenseJson(spdxId, addresses)
  return {
    ...simple,
    description: `${simple.name}, as the SPDX list has it.`,
    implementation:
      'Create a file named LICENSE in the root of the repository, copy the text into it, and fill in the year and the names of the copyright holders where it asks for them.',
    ...(COMMON_LICENSES[spdxId] ?? UNKNOWN),
    body,
  } satisfies components['schemas']['license'] & wire.LicenseText
}
