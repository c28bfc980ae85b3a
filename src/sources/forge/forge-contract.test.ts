import { FORGEJO_11, GITEA_1_15 } from '../../../test/support/forge/render.ts'
import { startForge } from '../../../test/support/forge/stand-in-forge.ts'
import { forgeContract } from './forge.contract.ts'

for (const dialect of [GITEA_1_15, FORGEJO_11])
  forgeContract(`stand-in of ${dialect.version}`, {
    start: async () => {
      const { url, stop, world } = await startForge({ dialect })
      world.runFast()
      return { url, token: 'admin-token', stop }
    },
  })

const { GODWIT_TEST_FORGE_URL: url, GODWIT_TEST_FORGE_TOKEN: token } = process.env
const { GODWIT_TEST_FORGE_REPOSITORIES: repositories } = process.env
const isNamed = Boolean(url && token)

forgeContract('a real one', {
  skip: !isNamed && 'GODWIT_TEST_FORGE_URL and GODWIT_TEST_FORGE_TOKEN name no forge',
  repositories,
  start: async () => ({ url: String(url), token: String(token), stop: async () => {} }),
})
