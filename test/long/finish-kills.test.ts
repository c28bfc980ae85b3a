import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { finishedState, finishScene, restoreInto } from '../support/finish-scene.ts'
import { startForge } from '../support/forge/fake-forge.ts'
import type { ForgeResponse } from '../support/forge/responses.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const KILLS = 20

async function startScene(t: TestContext) {
  const directory = temporaryDirectory(t)
  const forge = await startForge({ directory })
  t.after(() => forge.stop())
  const tokenFile = join(directory, 'token')
  await writeFile(tokenFile, 'admin-token')
  const scene = await finishScene(t, { url: forge.url, tokenFile })
  restoreInto(forge, scene.dumps)
  const args = ['finish', scene.dumps, '--forge', forge.url, '--token-file', tokenFile]
  return { ...scene, forge, args }
}

// Each kill needs a process of its own, so this takes more than 20 seconds.
test('finish that is killed 20 times has the same result in the end, and does nothing twice', async (t) => {
  const undisturbed = await startScene(t)
  assert.equal((await undisturbed.finish()).code, 0)

  const { forge, start, args, finish } = await startScene(t)
  for (let kills = 0; kills < KILLS; kills++) {
    const command = start(args)
    const kill = () => command.kill('SIGKILL')
    let writes = 0
    // Either the first change is done and the process is killed before the response, or the second change is lost with the process.
    forge.faultFor = ({ headers, path }) => {
      const isWrite = headers['content-length'] !== undefined && !path.endsWith('/objects/batch')
      if (!isWrite) return undefined
      writes++
      const killFirst = (regular: ForgeResponse) => {
        kill()
        return regular
      }
      if (kills % 2 === 0) return { change: killFirst }
      if (writes === 1) return undefined
      kill()
      return { hang: true }
    }
    const { code, output } = await command.result
    assert.equal(code, null, `the command ended before kill ${kills + 1}: ${output}`)
  }
  forge.faultFor = () => undefined
  const last = await finish()
  assert.equal(last.code, 0, last.output)
  assert.deepEqual(finishedState(forge), finishedState(undisturbed.forge))
  assert.match((await finish()).output, /nothing to do/)
})
