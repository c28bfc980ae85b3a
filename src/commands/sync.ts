import type { Command } from 'commander'
import { createGit } from '../git/git.ts'
import { harmless } from '../ground/terminal-text.ts'
import { type SyncReport, syncCatalogue } from '../repositories/sync.ts'
import { withDatabase } from '../service/open-database.ts'
import { openSource, placesOf } from '../service/places.ts'
import { requireGit, requireRepositories } from '../service/requirements.ts'
import { addCommand, configOf, print, withExamples } from './command-line.ts'

export function syncCommand(program: Command, about: string): void {
  const command = addCommand(program, 'sync', about)
  withExamples(command, 'godwit sync --repositories /srv/git')
  command.action(async (_options, command: Command) => {
    const config = configOf(command)
    const places = placesOf(config, requireRepositories(config))
    await requireGit(config, createGit(places.git))
    const source = openSource(places)
    const report = await withDatabase(config, ({ db }) =>
      syncCatalogue({ db, source, now: Date.now }),
    )
    print(describe(report))
  })
}

function describe({ found, read, missing, broken, refused }: SyncReport): string {
  return [
    `${found} repositories, ${read} new or changed, ${missing} gone`,
    ...broken.map(({ fullName, reason }) => `broken: ${harmless(fullName)}: ${harmless(reason)}`),
    ...refused.map(({ path, reason }) => `refused: ${harmless(path)}: ${harmless(reason)}`),
  ].join('\n')
}
