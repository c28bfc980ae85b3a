import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

/** Programs that read archives, under the names they may have and what tells them from others of that name. */
const TOOLS = {
  'GNU tar': { names: ['tar', 'gtar'], says: 'GNU tar' },
  bsdtar: { names: ['bsdtar', 'tar'], says: 'bsdtar' },
  Python: { names: ['python3'], says: 'Python' },
  Ruby: { names: ['ruby'], says: 'ruby' },
  busybox: { names: ['busybox'], says: 'BusyBox' },
} as const

export type Tool = keyof typeof TOOLS

function find(tool: Tool): string | undefined {
  const { names, says } = TOOLS[tool]
  return names.find((name) => {
    const asked = name === 'busybox' ? '--help' : '--version'
    return spawnSync(name, [asked], { encoding: 'utf8' }).stdout?.includes(says)
  })
}

/** For a test that needs the tool: where it is absent the test is skipped by name, except in CI, where it fails. */
export function needs(tool: Tool): { skip: string | false } {
  const absent = find(tool) === undefined && process.env.CI !== 'true'
  return { skip: absent && `${tool} is not installed` }
}

const run = promisify(execFile)

export async function runTool(tool: Tool, args: string[]): Promise<string> {
  const program = find(tool)
  if (program === undefined) throw new Error(`${tool} is not installed`)
  const { stdout } = await run(program, args, { maxBuffer: 64 * 1024 * 1024 })
  return stdout
}
