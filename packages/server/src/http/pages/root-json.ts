import { ROOT_PATHS } from '@godwit/contract/schemas/service'
import type * as wire from '@godwit/contract/schemas/types'
import type { components } from '@octokit/openapi-types'
import type { Addresses } from '../../repositories/addresses.ts'
import { previewTypeOf } from '../middleware/api-headers.ts'

/** The URLs of GitHub's API. This server does not serve all of them. */
export function rootJson(addresses: Addresses, vendor: string, signIn: wire.Root['sign_in']) {
  const { api } = addresses
  const urls = Object.entries(ROOT_PATHS).map(([name, path]) => [name, `${api}${path}`])
  return {
    ...(Object.fromEntries(urls) as Record<keyof typeof ROOT_PATHS, string>),
    current_user_authorizations_html_url: `${addresses.userHtml('settings')}/connections/applications{/client_id}`,
    // GitHub does not have these fields.
    user_migrations_url: `${api}/user/migrations{?page,per_page}`,
    user_migration_url: `${api}/user/migrations/{migration_id}`,
    documentation_url: addresses.documentation,
    repository_ssh_url: addresses.ssh,
    media_type: previewTypeOf(vendor),
    sign_in: signIn,
  } satisfies components['schemas']['root'] & wire.Root
}
