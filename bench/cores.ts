import { availableParallelism } from 'node:os'
import { has, run } from './measure.ts'

/**
 * Binds each server to one core and each client to another, so that scheduling does not favour any of them. Does
 * nothing where taskset or a second core is missing.
 */
export const SERVER = await boundTo(0)
export const CLIENT = await boundTo(1)

async function boundTo(core: number): Promise<string[]> {
  return (await canBind()) ? ['taskset', '--cpu-list', String(core)] : []
}

/** Binds a running process with all its threads to one core. Processes that it starts from now on are bound as well. */
export async function bind(pid: number, core: number): Promise<void> {
  if (await canBind())
    await run('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)])
}

async function canBind(): Promise<boolean> {
  return availableParallelism() > 1 && (await has('taskset'))
}
