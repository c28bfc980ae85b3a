import { availableParallelism } from 'node:os'
import { has } from './measure.ts'

/**
 * Who serves has one core and who asks has another, for everyone alike: else the two would take turns in a way that depends
 * on who they are. Where that cannot be arranged, nobody is bound.
 */
export const SERVER = await boundTo(0)
export const CLIENT = await boundTo(1)

async function boundTo(core: number): Promise<string[]> {
  const canBind = availableParallelism() > 1 && (await has('taskset'))
  return canBind ? ['taskset', '--cpu-list', String(core)] : []
}
