import type { FakeForge } from './fake-forge.ts'
import type { Repository, User } from './forge-data.ts'

/** Long enough ago that no two changes fall into the same second by chance. */
export const LONG_AGO = 1_700_000_000

export interface ManyIssues {
  repository: Repository
  ann: User
  name: { owner: string; name: string }
}

/**
 * Adds this many issues, one second apart; every fifth has two comments, every tenth is a pull request. Each has a text of this
 * many characters.
 */
export function addManyIssues({ world }: FakeForge, count: number, length = 0): ManyIssues {
  let now = LONG_AGO
  world.clock = () => now
  const ann = world.addUser('ann')
  const repository = world.addRepository(ann, 'many')
  const text = 'word '.repeat(length / 5)
  for (let n = 1; n <= count; n++) {
    now++
    const issue = n % 10 === 0 ? world.addPull(repository, ann) : world.addIssue(repository, ann)
    if (length > 0) issue.body = text
    if (n % 5 === 0) for (const word of ['one', 'two']) world.addComment(issue, ann, `${word} ${n}`)
  }
  world.advanceClockPerRequest(now + 60)
  return { repository, ann, name: { owner: 'ann', name: 'many' } }
}
