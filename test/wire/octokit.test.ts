import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PREVIEW } from '../support/service.ts'
import { runLifecycle } from './migration-lifecycle.ts'
import { needsOctokit, type OctokitVersion, octokitClient } from './octokit-client.ts'
import {
  needsOrganization,
  organizationUnderTest,
  ownServer,
  serverUnderTest,
  serverWith,
} from './server-under-test.ts'

/** `mediaType.previews` has no effect any more, so the header is set. */
const WITH_PREVIEW = { headers: { accept: PREVIEW } }

describe('@octokit/rest', () => {
  test(
    '22 runs a migration from start to deletion with the preview media type',
    needsOctokit(22),
    async (t) => {
      const server = await serverUnderTest()
      await runLifecycle(t, server, await octokitClient(22, server, WITH_PREVIEW))
    },
  )

  test(
    '22 works without configuration if the preview is optional',
    needsOwnServer(22),
    async (t) => {
      const server = await serverWith('unusual')
      await runLifecycle(t, server, await octokitClient(22, server))
    },
  )

  test(
    '22 without configuration gets 415 if the preview is required',
    needsOwnServer(22),
    async () => {
      const server = await serverWith('strict')
      const client = await octokitClient(22, server)
      const { id } = await client.start(server.repositories, { lock: false })
      await assert.rejects(client.status(id), { status: 415 })
    },
  )

  for (const version of [17, 16] as const) {
    test(
      `${version} runs a migration from start to deletion without configuration`,
      needsOctokit(version),
      async (t) => {
        const server = await serverUnderTest()
        await runLifecycle(t, server, await octokitClient(version, server))
      },
    )
  }

  for (const version of [22, 17, 16] as const) {
    test(
      `${version} runs a migration of an organization without configuration`,
      needsOrganizationFor(version),
      async (t) => {
        const server = await organizationUnderTest()
        await runLifecycle(t, server, await octokitClient(version, server))
      },
    )
  }

  test(
    '22 runs a migration of an organization under /api/v3',
    needsOrganizationFor(22),
    async (t) => {
      const server = await organizationUnderTest()
      const enterprise = { ...server, url: `${server.url}/api/v3` }
      await runLifecycle(t, server, await octokitClient(22, enterprise))
    },
  )

  test('22 runs a migration under /api/v3', needsOctokit(22), async (t) => {
    const server = await serverUnderTest()
    const enterprise = { ...server, url: `${server.url}/api/v3` }
    await runLifecycle(t, server, await octokitClient(22, enterprise, WITH_PREVIEW))
  })
})

function needsOrganizationFor(version: OctokitVersion): { skip: string | false } {
  return { skip: needsOctokit(version).skip || needsOrganization.skip }
}

function needsOwnServer(version: OctokitVersion): { skip: string | false } {
  return { skip: needsOctokit(version).skip || ownServer.skip }
}
