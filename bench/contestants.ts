import { join } from 'node:path'
import { makeSegments } from './engine.ts'
import { has, seconds, shell } from './measure.ts'
import { startService } from './service.ts'

export interface Corpus {
  name: string
  root: string
  owner: string
  /** Repository names without `.git`. */
  repositories: string[]
}

/** Results by row of the table, in seconds, or in MB where the row says so. */
export type Figures = Record<string, number>

interface Contestant {
  /** Tools that are not installed are named in the results and not run. */
  isThere: boolean
  /** The equivalent shell command, shown in the results. */
  command: string
  /** Works in `out`, an empty directory that is removed afterwards. */
  run(corpus: Corpus, out: string): Promise<Figures>
}

export const ROWS = {
  mirror: 'git clone --mirror, tar czf',
  tar: 'tar czf',
  bundle: 'git bundle create --all',
  bundles: 'git bundle create --all, one for each core',
  copy: 'cp -r',
  syncedCopy: 'cp -r, sync',
  restic: 'restic backup',
  resticAgain: 'restic backup, again and unchanged',
  first: 'Godwit, verified',
  second: 'Godwit, again and unchanged',
  engine: 'Godwit, without verification',
  limit: 'limit: connectivity and both digests',
  digest: 'SHA-256 alone',
  memory: 'peak memory of Godwit, MB',
} as const

/** The largest repositories first: otherwise the last core would wait for them. */
const EACH_BY_SIZE = 'cd "$1"; du -s */*.git | sort -rn | cut -f2'
const ON_ALL_CORES = 'xargs -P "$(nproc)" -I{}'
const EACH = 'cd "$1"; for repository in */*.git; do'

function peer(row: string, script: string): Contestant {
  return {
    command: script,
    isThere: true,
    run: async ({ root }, out) => ({ [row]: await seconds(() => shell(script, root, out)) }),
  }
}

const BACKUP =
  'export RESTIC_PASSWORD=bench RESTIC_REPOSITORY="$2/restic" RESTIC_CACHE_DIR="$2/cache"; cd "$1"; restic backup --quiet .'

const restic: Contestant = {
  command: `restic init; ${BACKUP}; twice`,
  isThere: await has('restic'),
  async run({ root }, out) {
    await shell(BACKUP.replace(/restic backup.*/, 'restic init --quiet'), root, out)
    return {
      [ROWS.restic]: await seconds(() => shell(BACKUP, root, out)),
      [ROWS.resticAgain]: await seconds(() => shell(BACKUP, root, out)),
    }
  },
}

const service: Contestant = {
  isThere: true,
  command: 'bin/godwit serve; from POST /user/migrations until the state is "exported", twice',
  async run({ root, owner, repositories }, out) {
    const godwit = await startService({ repositories: root, data: join(out, 'data'), login: owner })
    const exportAll = async () => godwit.untilExported(await godwit.start(repositories))
    try {
      await shell('sync')
      return {
        [ROWS.first]: await seconds(exportAll),
        [ROWS.second]: await seconds(exportAll),
        [ROWS.memory]: await godwit.peakMemory(),
      }
    } finally {
      await godwit.stop()
    }
  },
}

const engine: Contestant = {
  isThere: true,
  command:
    'the segment threads alone: snapshots, segments and their digests, all durable; nothing of git is checked',
  async run({ root, owner, repositories }, out) {
    const names = repositories.map((name) => ({ owner, name }))
    return { [ROWS.engine]: await seconds(() => makeSegments(root, names, out)) }
  },
}

export const CONTESTANTS: Contestant[] = [
  // A URL makes git copy the objects; with a path it would only link them.
  peer(
    ROWS.mirror,
    `${EACH} git clone --quiet --mirror "file://$1/$repository" "$2/mirror/$repository"; done; tar czf "$2/archive.tar.gz" -C "$2" mirror`,
  ),
  peer(ROWS.tar, 'tar czf "$2/archive.tar.gz" -C "$1" .'),
  peer(
    ROWS.bundle,
    `${EACH} git -C "$repository" bundle create --quiet "$2/$(basename "$repository").bundle" --all; done`,
  ),
  peer(
    ROWS.bundles,
    `${EACH_BY_SIZE} | ${ON_ALL_CORES} sh -c 'git -C {} bundle create --quiet "$0/$(basename {}).bundle" --all' "$2"`,
  ),
  // What any archive that proves its content has to do: walk all objects, and compute SHA-1 and SHA-256 of all bytes.
  peer(
    ROWS.limit,
    `${EACH_BY_SIZE} | sed 's/.*/git -C & rev-list --objects --all --quiet\\nfind & -type f -exec openssl dgst -sha1 {} +\\nfind & -type f -exec openssl dgst -sha256 {} +/' | xargs -P "$(nproc)" -I% sh -c '%' >/dev/null`,
  ),
  peer(ROWS.copy, 'cp -r "$1" "$2/copy"'),
  peer(ROWS.syncedCopy, 'cp -r "$1" "$2/copy"; sync -f "$2/copy"'),
  // A SHA-256 of the archive is a lower limit for any archiver that stores a digest.
  peer(
    ROWS.digest,
    'find "$1" -type f -print0 | xargs -0 -n 50 -P "$(nproc)" openssl dgst -sha256 >/dev/null',
  ),
  restic,
  service,
  engine,
]
