import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finishedState, startFinishScene } from '../support/finish-scene.ts'
import type { ForgeResponse } from '../support/forge/responses.ts'

const KILLS = 20

// Each kill needs a process of its own, so this takes more than 20 seconds.
test('finish that is killed 20 times has the same result in the end, and does nothing twice', async (t) => {
  const undisturbed = await startFinishScene(t)
  assert.equal((await undisturbed.finish()).code, 0)

  const { forge, start, args, finish } = await startFinishScene(t)
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
