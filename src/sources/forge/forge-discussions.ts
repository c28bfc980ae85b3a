import type { Discussions, Group, Kept } from '../discussions.ts'
import type { RepositoryName } from '../source.ts'
import { cursorOf } from './cursor.ts'
import { type ForgeOptions, forgeClient } from './forge-client.ts'
import { forgeGetter } from './known-forge.ts'
import { isUnchanged, type Look, lookAt, stampOfChanges } from './look.ts'
import { Notes } from './notes.ts'
import { openFile } from './open-file.ts'
import { People } from './people-facts.ts'
import type { ReadContext } from './read-context.ts'
import { readOwner } from './read-owner.ts'
import { RepositoryReading } from './read-repository.ts'

/** A look that a reading right after it may use: it need not ask the same again. */
interface TakenLook {
  look: Look
  context: ReadContext
  cursor: string | null
  until: number
}

const LOOK_MS = 60_000

/** Discussions of a Gitea or a Forgejo over REST. */
export function forgeDiscussions(options: ForgeOptions): Discussions & { requests(): number } {
  const client = forgeClient(options)
  const now = options.now ?? Date.now
  const getForge = forgeGetter(client, now)
  const looks = new Map<string, TakenLook>()
  const nameOf = ({ owner, name }: RepositoryName) => `${owner}/${name}`

  async function look(repository: RepositoryName, kept: Kept, signal: AbortSignal) {
    const forge = await getForge(signal)
    // What was said of an earlier reading still holds for what was kept of it.
    const notes = new Notes(cursorOf(kept.cursor)?.notes)
    if (!forge.can.timeline) notes.noTimeline(forge.version)
    const context = { forge, ...pickName(repository), notes, people: new People(), signal }
    return { look: await lookAt(context, kept), context }
  }

  return {
    async stamp(repository, kept, signal) {
      const taken = await look(repository, kept, signal)
      for (const [name, { until }] of looks) if (until < now()) looks.delete(name)
      const { cursor } = kept
      looks.set(nameOf(repository), { ...taken, cursor, until: now() + LOOK_MS })
      return isUnchanged(taken.look) ? (cursorOf(cursor)?.stamp ?? '') : stampOfChanges(taken.look)
    },

    async *read(repository, kept, signal) {
      const taken = looks.get(nameOf(repository))
      looks.delete(nameOf(repository))
      const isUsable = taken && taken.cursor === kept.cursor && taken.until >= now()
      const current = isUsable ? taken : await look(repository, kept, signal)
      const context = { ...current.context, signal }
      yield* new RepositoryReading(context, kept, current.look).batches()
    },

    async owner(login, signal): Promise<Group> {
      return readOwner(await getForge(signal), login, signal)
    },

    open: (file, signal) => openFile(client, file, signal),
    requests: client.requests,
  }
}

const pickName = ({ owner, name }: RepositoryName): RepositoryName => ({ owner, name })
