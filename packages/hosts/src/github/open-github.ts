import { cacheForAnHour, isAdministrator } from '../forge/client/known-forge.ts'
import { restDiscussions } from '../forge/discussions/forge-discussions.ts'
import type { Host, HostOptions } from '../host.ts'
import { normalizeHostUrl, repositoryPagePath } from '../host-url.ts'
import { gitRemote } from '../http/git-remote.ts'
import { readBytes } from '../http/open-file.ts'
import { GitHubClient } from './github-client.ts'

/** Where GitHub stores the files of releases. */
const STORAGE_ORIGINS = ['objects', 'release-assets'].map(
  (name) => `https://${name}.githubusercontent.com`,
)
/** GitHub's limits are reset every hour. */
const MAX_WAIT_MS = 65 * 60 * 1000

/** Opens GitHub or a GitHub Enterprise Server. */
export function openGitHub({ url: given, token, storageOrigins = [] }: HostOptions): Host {
  const { pagesUrl, apiUrl, apiPath } = addressesOf(normalizeHostUrl(given))
  const common = { token, maxWaitMs: MAX_WAIT_MS }
  const client = new GitHubClient({
    ...common,
    url: apiUrl,
    apiPath,
    storageOrigins: [...storageOrigins, ...STORAGE_ORIGINS],
  })
  const getHost = cacheForAnHour(Date.now, async (signal) => ({
    client,
    can: { ...CAPABILITIES },
    paging: { limit: 50, isExact: false },
    isTokenRestricted: !(await isAdministrator(client, signal)),
    notOrganizations: new Set<string>(),
  }))
  return {
    kind: 'github',
    url: pagesUrl,
    discussions: restDiscussions(client, getHost),
    giteaVersion: async () => undefined,
    async *pullDiff(repository, number, signal) {
      const path = `${apiPath}/repos${repositoryPagePath(repository)}/pulls/${number}`
      const response = await client.download(path, signal, 'application/vnd.github.diff')
      yield* readBytes(response, apiUrl, signal)
    },
    ...gitRemote({ ...common, url: pagesUrl }),
  }
}

/** GitHub has timelines and files of issues only in another form than Gitea's. */
const CAPABILITIES = {
  timeline: false,
  permissions: false,
  issueAssets: false,
  dependencies: false,
  enforcedSecondFactor: false,
}

/** github.com and the tenants of ghe.com have a separate host for the API. GitHub Enterprise Server has a path. */
function addressesOf(given: string) {
  const url = given.replace(/\/api\/v3$/, '')
  const [, host] = /^https:\/\/(?:api\.)?(github\.com|[\w-]+\.ghe\.com)$/.exec(url) ?? []
  return host
    ? { pagesUrl: `https://${host}`, apiUrl: `https://api.${host}`, apiPath: '' }
    : { pagesUrl: url, apiUrl: url, apiPath: '/api/v3' }
}
