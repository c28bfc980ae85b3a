import { checkStore } from '../../exporter/check-segments.ts'
import { inUnits, number } from '../../lib/quantities.ts'
import { escapeForTerminal, escapeJsonForTerminal } from '../../lib/terminal-text.ts'
import { UserError } from '../../lib/user-error.ts'
import { type DamagedArchive, damagedArchives } from '../../migrations/archive-store.ts'
import { countSegments } from '../../migrations/segment-store.ts'
import { dataPathsOf, openBlobs } from '../../service/data-paths.ts'
import { withDatabase } from '../../service/open-database.ts'
import type { Config } from '../../settings/config.ts'
import { print } from '../command-line.ts'
import { progressLine } from '../progress-line.ts'

/** Reads all segments and archives of a service, which may be running, and names the archives that have damaged data. */
export async function checkWholeStore(
  config: Config,
  { json = false }: { json?: boolean },
  signal: AbortSignal,
): Promise<void> {
  const blobs = await openBlobs(dataPathsOf(config, ''))
  await withDatabase(config, async ({ db }) => {
    const read = { intact: 0, damaged: 0, bytes: 0 }
    {
      using line = progressLine(process.stderr)
      const { bytes: total } = await countSegments(db)
      const order = { before: Date.now() }
      for await (const { result, bytes } of checkStore(
        { db, blobs, now: Date.now },
        order,
        signal,
      )) {
        read[result] += 1
        read.bytes += bytes
        const part = total === 0 ? undefined : read.bytes / total
        line.show(part, `${number(read.intact + read.damaged)} read, ${inUnits(read.bytes)}`)
      }
    }
    const archives = await damagedArchives(db)
    if (json) print(escapeJsonForTerminal({ ...read, archives: archives.map(jsonOf) }))
    else {
      for (const each of archives) print(`damaged: ${escapeForTerminal(inWords(each))}`)
      print(`${read.intact} intact, ${read.damaged} damaged; ${inUnits(read.bytes)} read`)
    }
    if (read.damaged > 0) throw new UserError(explained(read, archives))
  })
}

const inWords = ({ migrationId, login, damaged }: DamagedArchive): string =>
  `the archive of migration ${migrationId} of ${login}: ${damaged.join(', ')}`

const jsonOf = ({ migrationId, login, damaged }: DamagedArchive) => ({
  migration_id: migrationId,
  login,
  damaged,
})

function explained({ damaged, intact }: { damaged: number; intact: number }, archives: unknown[]) {
  const found = `${damaged} of ${damaged + intact} stored segments and archives are damaged`
  const again = 'the next migration of these repositories exports them again'
  return archives.length === 0
    ? `${found}; no archive contains them, and ${again}`
    : `${found}; ${again}. Restore the data directory or bucket from a backup to repair the named archives`
}
