import {
  type ConvertInput,
  type ConvertOptions,
  convert,
} from '../../packages/archive/src/convert.ts'
import { Report, type Written } from '../../packages/archive/src/formats/format.ts'
import { giteaDumpWriter } from '../../packages/archive/src/formats/gitea-dump/write-gitea-dump.ts'

export interface DumpDependencies
  extends Pick<ConvertOptions, 'git' | 'into' | 'people' | 'repositories'>,
    Pick<ConvertInput, 'open'> {
  keepLinks: boolean
  forge: string
  onEvent(event: DumpEvent): void
}

export type DumpEvent =
  | { warning: string }
  | { note: string }
  | { leftBehind: [kind: string, count: number][] }

/** Converts one archive to dumps for Gitea. The events are the warnings, and at the end the losses and notes. */
export async function* dumpForGitea(
  { open, onEvent, keepLinks, forge, ...dependencies }: DumpDependencies,
  signal: AbortSignal,
): AsyncGenerator<Written> {
  const report = new Report((warning) => onEvent({ warning }))
  const { git, into } = dependencies
  yield* convert(
    {
      ...dependencies,
      ...{ inputs: [{ name: 'archive', open }], owner: '', report },
      createWriter: (workDirectory, people) =>
        giteaDumpWriter({ git, into, people, workDirectory, keepLinks, forge }),
      numbersFile: `${into}.numbers.csv`,
    },
    signal,
  )
  onEvent({ leftBehind: report.end().map(({ kind, count }) => [kind, count]) })
  for (const note of report.notes) onEvent({ note })
}
