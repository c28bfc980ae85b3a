import type { FakeForge } from './fake-forge.ts'
import type { Repository, User } from './forge-data.ts'

/** Long enough ago that no two changes fall into the same second by chance. */
export const LONG_AGO = 1_700_000_000

export interface ManyIssues {
  repository: Repository
  ann: User
  name: { owner: string; name: string }
}

/** Adds this many issues, one second apart; every fifth has two comments, every tenth is a pull request. */
export function addManyIssues({ world }: FakeForge, count: number): ManyIssues {
  let now = LONG_AGO
  world.clock = () => now
  const ann = world.addUser('ann')
  const repository = world.addRepository(ann, 'many')
  for (let n = 1; n <= count; n++) {
    now++
    const issue = n % 10 === 0 ? world.addPull(repository, ann) : world.addIssue(repository, ann)
    if (n % 5 === 0) for (const word of ['one', 'two']) world.addComment(issue, ann, `${word} ${n}`)
  }
  world.advanceClockPerRequest(now + 60)
  return { repository, ann, name: { owner: 'ann', name: 'many' } }
}
