import type * as wire from '@godwit/contract/schemas/types'
import type { components } from '@octokit/openapi-types'
import licenses from 'spdx-license-list'
import type { Addresses } from '../../repositories/addresses.ts'
import { nodeId } from './rendering.ts'

export function licenseJson(spdxId: string, addresses: Addresses) {
  const key = spdxId.toLowerCase()
  return {
    key,
    // GitHub uses the short GNU ids, such as GPL-3.0, for what SPDX calls GPL-3.0-only.
    name: licenses[spdxId]?.name.replace(/ only$/, '') ?? spdxId,
    url: `${addresses.api}/licenses/${key}`,
    spdx_id: spdxId,
    node_id: nodeId('License', key),
    html_url: `https://spdx.org/licenses/${spdxId}.html`,
  } satisfies components['schemas']['nullable-license-simple'] & wire.License
}

const NO_RULES = { permissions: [], conditions: [], limitations: [], featured: false }

export function licenseTextJson(spdxId: string, body: string, addresses: Addresses) {
  const simple = licenseJson(spdxId, addresses)
  return {
    ...simple,
    description: `${simple.name}, as the SPDX list has it.`,
    implementation:
      'Create a file named LICENSE in the root of the repository, copy the text into it, and fill in the year and the names of the copyright holders where it asks for them.',
    ...(COMMON_LICENSES[spdxId] ?? NO_RULES),
    body,
  } satisfies components['schemas']['license'] & wire.LicenseText
}

/** The rules of a licence, with the names of GitHub's API. */
interface LicenseRules {
  permissions: string[]
  conditions: string[]
  limitations: string[]
  featured: boolean
}

const USE = ['commercial-use', 'modifications', 'distribution', 'private-use']
const USE_AND_PATENTS = [...USE, 'patent-use']
const NO_WARRANTY = ['liability', 'warranty']
const COPYLEFT = ['include-copyright', 'document-changes', 'disclose-source']

const rules = (
  permissions: string[],
  conditions: string[],
  limitations = NO_WARRANTY,
  { featured = false } = {},
): LicenseRules => ({ permissions, conditions, limitations, featured })

const FEATURED = { featured: true }

export const COMMON_LICENSES: Readonly<Record<string, LicenseRules>> = {
  'AGPL-3.0': rules(USE_AND_PATENTS, [...COPYLEFT, 'network-use-disclose', 'same-license']),
  'Apache-2.0': rules(
    USE_AND_PATENTS,
    ['include-copyright', 'document-changes'],
    ['trademark-use', ...NO_WARRANTY],
    FEATURED,
  ),
  'BSD-2-Clause': rules(USE, ['include-copyright']),
  'BSD-3-Clause': rules(USE, ['include-copyright']),
  'BSL-1.0': rules(USE, ['include-copyright--source']),
  'CC0-1.0': rules(USE, [], ['patent-use', 'trademark-use', ...NO_WARRANTY]),
  'EPL-2.0': rules(USE_AND_PATENTS, ['disclose-source', 'include-copyright', 'same-license']),
  'GPL-2.0': rules(USE, [...COPYLEFT, 'same-license']),
  'GPL-3.0': rules(USE_AND_PATENTS, [...COPYLEFT, 'same-license'], NO_WARRANTY, FEATURED),
  'LGPL-2.1': rules(USE, [...COPYLEFT, 'same-license--library']),
  MIT: rules(USE, ['include-copyright'], NO_WARRANTY, FEATURED),
  'MPL-2.0': rules(
    USE_AND_PATENTS,
    ['disclose-source', 'include-copyright', 'same-license--file'],
    ['trademark-use', ...NO_WARRANTY],
  ),
  Unlicense: rules(USE, []),
}
