import { type ClientContext, sameOrgFlag } from '../client-command.ts'
import { note } from '../command-line.ts'

/** Starts a migration. An answer that got lost, or is not waited for, must not make anybody start it twice. */
export async function startOnce<T>(
  talk: ClientContext,
  start: () => Promise<T>,
  list = `godwit migration list${sameOrgFlag(talk)}`,
): Promise<T> {
  const words = `the migration may have started: check with \`${list}\``
  talk.ifStoppedNow(`stopped; ${words}`)
  try {
    return await start()
  } catch (error) {
    const { mayHaveArrived } = await import('../../client/errors.ts')
    if (mayHaveArrived(error)) note(words)
    throw error
  }
}
