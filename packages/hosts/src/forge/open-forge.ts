import type { Host, HostOptions } from '../host.ts'
import { repositoryPagePath } from '../host-url.ts'
import { gitRemote } from '../http/git-remote.ts'
import { readBytes } from '../http/open-file.ts'
import { ForgeClient } from './client/forge-client.ts'
import { forgeDiscussions } from './discussions/forge-discussions.ts'

/** Forges that limit requests do so for an hour at most. */
const MAX_WAIT_MS = 65 * 60 * 1000

/** Opens a Gitea or Forgejo. */
export function openForge(given: HostOptions): Host {
  const options = { ...given, maxWaitMs: MAX_WAIT_MS, showsOriginalAuthors: true }
  const client = new ForgeClient(options)
  const { url } = client
  return {
    kind: 'forge',
    url,
    discussions: forgeDiscussions(options, client),
    giteaVersion: async (signal) => (await client.probe(signal)).gitea,
    async *pullDiff(repository, number, signal) {
      const path = `/api/v1/repos${repositoryPagePath(repository)}/pulls/${number}.diff`
      yield* readBytes(await client.download(path, signal, 'text/plain'), url, signal)
    },
    ...gitRemote({ url, token: given.token, maxWaitMs: MAX_WAIT_MS }),
  }
}
