import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { skipUnless } from './skip-unless.ts'

/** Programs that read archives: their possible names, and a text in their version output that identifies them. */
const TOOLS = {
  'GNU tar': { names: ['tar', 'gtar'], says: 'GNU tar' },
  bsdtar: { names: ['bsdtar', 'tar'], says: 'bsdtar' },
  Python: { names: ['python3'], says: 'Python' },
  Ruby: { names: ['ruby'], says: 'ruby' },
  busybox: { names: ['busybox'], says: 'BusyBox' },
} as const

export type Tool = keyof typeof TOOLS

const asked = (name: string, args: readonly string[]): string =>
  spawnSync(name, args, { encoding: 'utf8' }).stdout ?? ''

const FOUND = new Map<Tool, string | undefined>()

/**
 * Finds the program of a tool. The result is cached, because running `--version` takes as long as most uses of
 * the tool.
 */
function find(tool: Tool): string | undefined {
  if (!FOUND.has(tool)) FOUND.set(tool, look(tool))
  return FOUND.get(tool)
}

function look(tool: Tool): string | undefined {
  const { names, says } = TOOLS[tool]
  const found = names.find((name) =>
    asked(name, [name === 'busybox' ? '--help' : '--version']).includes(says),
  )
  // The name may be a wrapper script that looks for the real Python each time.
  const itself = found && tool === 'Python' && asked(found, ['-c', ITSELF]).trim()
  return itself || found
}

const ITSELF = 'import sys; print(sys.executable)'

/** Returns options for a test that needs the tool. */
export function needs(tool: Tool): { skip: string | false } {
  return skipUnless(find(tool) !== undefined, `${tool} is not installed`)
}

const run = promisify(execFile)

export async function runTool(tool: Tool, args: string[]): Promise<string> {
  const program = find(tool)
  if (program === undefined) throw new Error(`${tool} is not installed`)
  const { stdout } = await run(program, args, { maxBuffer: 64 * 1024 * 1024 })
  return stdout
}
