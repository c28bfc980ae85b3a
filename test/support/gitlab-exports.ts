import { execFileSync } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { openReader } from '../../packages/archive/src/convert.ts'
import { Report } from '../../packages/archive/src/formats/format.ts'
import type { MappedPerson } from '../../packages/archive/src/formats/people.ts'
import type { RecordKind, RecordsByKind } from '../../packages/archive/src/records/record-kinds.ts'
import type { Folder } from '../../packages/archive/src/tar/read-folder.ts'
import type { Git } from '../../packages/git/src/git.ts'
import type { Bytes } from '../../packages/lib/src/bytes.ts'
import { temporaryFolder } from './archive-samples.ts'
import { sharedFile } from './shared-files.ts'

const of2019 = sharedFile('data/gitlab-export-2019.tar.gz')
const of2020 = sharedFile('data/gitlab-tree-2020.tar.gz')

/** Real files of GitLab, which are not part of the project. */
export const [GITLAB_2019, TREE_2020] = [of2019.path, of2020.path]
export const needsGitLab = { skip: of2019.needed.skip || of2020.needed.skip }

/** Unpacks the tree of 2020, and makes an export of it with the git data of 2019, whose commits it names. */
export async function unpackTree2020(
  t: Pick<TestContext, 'after'>,
  tree: 'complex' | 'light',
  { legacy = false } = {},
): Promise<string> {
  const folder = await temporaryFolder(t)
  const [unpacked, old, root] = ['unpacked', 'old', 'export'].map((name) => join(folder, name))
  for (const each of [unpacked!, old!, root!]) await mkdir(each)
  execFileSync('tar', ['xzf', TREE_2020, '-C', unpacked!])
  execFileSync('tar', ['xzf', GITLAB_2019, '-C', old!])
  const [from, to] = legacy ? ['project.json', 'project.json'] : ['tree', 'tree']
  await cp(join(unpacked!, tree, from), join(root!, to), { recursive: true })
  if (tree === 'complex') await cp(join(old!, 'project.bundle'), join(root!, 'project.bundle'))
  await writeFile(join(root!, 'VERSION'), '0.2.4')
  return root!
}

interface Options {
  git: Git
  people?: Map<string, MappedPerson>
}

/** Reads an input of any format, and returns its content with everything that was reported. */
export async function readContent(
  t: Pick<TestContext, 'after'>,
  input: Bytes | Folder,
  { git, people = new Map() }: Options,
) {
  const folder = await temporaryFolder(t)
  const { signal } = new AbortController()
  const resources = new DisposableStack()
  t.after(() => resources.dispose())
  const warnings: string[] = []
  const report = new Report((text) => warnings.push(text))
  const dependencies = {
    git,
    people,
    report,
    resources,
    wanted: new Set<string>(),
    projects: new Map(),
  }
  const names = { name: 'group_project_export.tar.gz', owner: 'alice' }
  const content = await openReader(input, join(folder, 'input'), {
    ...dependencies,
    ...names,
    signal,
  })
  return {
    ...{ content, warnings },
    records: <K extends RecordKind>(kind: K): Promise<RecordsByKind[K][]> =>
      Array.fromAsync(content.records(kind)),
    /** Ends the report. */
    losses: () => Object.fromEntries(report.end().map(({ kind, count }) => [kind, count])),
  }
}

export type Relations = Record<string, readonly object[]>

/** Writes an export as a directory: lines of JSON for each relation, and other files. */
export async function writeExport(
  root: string,
  relations: Relations,
  files: Record<string, string | Buffer> = {},
): Promise<string> {
  const lines = (records: readonly object[]) => records.map((each) => `${JSON.stringify(each)}\n`)
  const all: Record<string, string | Buffer> = {
    VERSION: '0.2.4\n',
    GITLAB_VERSION: '17.1.0\n',
    'tree/project.json': JSON.stringify({ visibility_level: 20, name: 'Tool' }),
    ...Object.fromEntries(
      Object.entries(relations).map(([name, records]) => [
        `tree/project/${name}.ndjson`,
        lines(records).join(''),
      ]),
    ),
    ...files,
  }
  for (const [path, content] of Object.entries(all)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  return root
}
