import { availableParallelism } from 'node:os'
import { has } from './measure.ts'

/**
 * Binds each server to one core and each client to another, so that scheduling does not favour any of them. Does
 * nothing where taskset or a second core is missing.
 */
export const SERVER = await boundTo(0)
export const CLIENT = await boundTo(1)

async function boundTo(core: number): Promise<string[]> {
  const canBind = availableParallelism() > 1 && (await has('taskset'))
  return canBind ? ['taskset', '--cpu-list', String(core)] : []
}
