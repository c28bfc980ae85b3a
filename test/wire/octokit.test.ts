import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PREVIEW } from '../support/service.ts'
import { needsOctokit, type OctokitVersion, octokitClient } from './octokit-client.ts'
import {
  needsOrganization,
  organizationUnderTest,
  ownServer,
  serverUnderTest,
  serverWith,
} from './server-under-test.ts'
import { wholeLife } from './whole-life.ts'

/** Its `mediaType.previews` does nothing any more: the header must be given. */
const WITH_PREVIEW = { headers: { accept: PREVIEW } }

describe('@octokit/rest', () => {
  test('22 lives the whole life, asking for the preview', needsOctokit(22), async (t) => {
    const server = await serverUnderTest()
    await wholeLife(t, server, await octokitClient(22, server, WITH_PREVIEW))
  })

  test('22 as it is installed needs an optional preview', either(22), async (t) => {
    const server = await serverWith('unusual')
    await wholeLife(t, server, await octokitClient(22, server))
  })

  test('22 is told of a preview that is required', either(22), async () => {
    const server = await serverWith('strict')
    const client = await octokitClient(22, server)
    const { id } = await client.start(server.repositories, { lock: false })
    await assert.rejects(client.status(id), { status: 415 })
  })

  for (const version of [17, 16] as const) {
    test(`${version} lives the whole life as it is installed`, needsOctokit(version), async (t) => {
      const server = await serverUnderTest()
      await wholeLife(t, server, await octokitClient(version, server))
    })
  }

  for (const version of [22, 17, 16] as const) {
    test(
      `${version} lives the whole life of an organization as it is installed`,
      ofOrganization(version),
      async (t) => {
        const server = await organizationUnderTest()
        await wholeLife(t, server, await octokitClient(version, server))
      },
    )
  }

  test(
    '22 lives the whole life of an organization under /api/v3',
    ofOrganization(22),
    async (t) => {
      const server = await organizationUnderTest()
      const enterprise = { ...server, url: `${server.url}/api/v3` }
      await wholeLife(t, server, await octokitClient(22, enterprise))
    },
  )

  test('22 lives the whole life under /api/v3', needsOctokit(22), async (t) => {
    const server = await serverUnderTest()
    const enterprise = { ...server, url: `${server.url}/api/v3` }
    await wholeLife(t, server, await octokitClient(22, enterprise, WITH_PREVIEW))
  })
})

function ofOrganization(version: OctokitVersion): { skip: string | false } {
  return { skip: needsOctokit(version).skip || needsOrganization.skip }
}

function either(version: OctokitVersion): { skip: string | false } {
  return { skip: needsOctokit(version).skip || ownServer.skip }
}
