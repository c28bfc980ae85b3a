import type { components } from '@octokit/openapi-types'
import type { Addresses } from '../../repositories/addresses.ts'
import type * as wire from '../../wire/types.ts'
import { licenseJson } from '../repositories/license-json.ts'
import { COMMON_LICENSES } from './license-rules.ts'

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
