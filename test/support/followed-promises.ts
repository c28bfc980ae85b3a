import asyncHooks, { type AsyncHook } from 'node:async_hooks'

/**
 * The runner follows every promise, timer and socket from its first test to its last, so that it knows which test an uncaught error
 * came from. That is a fifth of what tests cost that do much at once. Loaded before the runner, this finds the hook that does it.
 */
let following: AsyncHook | undefined
const { createHook } = asyncHooks
Object.assign(asyncHooks, {
  createHook: (...given: Parameters<typeof createHook>) => {
    Object.assign(asyncHooks, { createHook })
    following = createHook(...given)
    return following
  },
})

/**
 * Once all test files are loaded: until then it tells which suite a test belongs to. An uncaught error fails the run all the same;
 * which test it came from is told where the file is run alone.
 */
export function stopFollowingPromises(): void {
  following?.disable()
}
