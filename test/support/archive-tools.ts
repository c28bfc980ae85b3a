import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { skipUnless } from './skip-unless.ts'

/** Programs that read archives: their possible names, and a text in their version output that identifies them. */
const TOOLS = {
  'GNU tar': { names: ['tar', 'gtar'], identifiedBy: 'GNU tar' },
  bsdtar: { names: ['bsdtar', 'tar'], identifiedBy: 'bsdtar' },
  Python: { names: ['python3'], identifiedBy: 'Python' },
  Ruby: { names: ['ruby'], identifiedBy: 'ruby' },
  busybox: { names: ['busybox'], identifiedBy: 'BusyBox' },
} as const

export type Tool = keyof typeof TOOLS

const outputOf = (name: string, args: readonly string[]): string =>
  spawnSync(name, args, { encoding: 'utf8' }).stdout ?? ''

const PROGRAMS = new Map<Tool, string | undefined>()

/**
 * Returns the program of a tool. The result is cached, because running `--version` takes as long as most uses of
 * the tool.
 */
function programOf(tool: Tool): string | undefined {
  if (!PROGRAMS.has(tool)) PROGRAMS.set(tool, findProgram(tool))
  return PROGRAMS.get(tool)
}

function findProgram(tool: Tool): string | undefined {
  const { names, identifiedBy } = TOOLS[tool]
  const found = names.find((name) =>
    outputOf(name, [name === 'busybox' ? '--help' : '--version']).includes(identifiedBy),
  )
  // The name may be a wrapper script that looks for the real Python each time.
  const executable = found && tool === 'Python' && outputOf(found, ['-c', PRINT_EXECUTABLE]).trim()
  return executable || found
}

const PRINT_EXECUTABLE = 'import sys; print(sys.executable)'

/** Returns options for a test that needs the tool. */
export function needs(tool: Tool): { skip: string | false } {
  return skipUnless(programOf(tool) !== undefined, `${tool} is not installed`)
}

const run = promisify(execFile)

export async function runTool(tool: Tool, args: string[]): Promise<string> {
  const program = programOf(tool)
  if (program === undefined) throw new Error(`${tool} is not installed`)
  const { stdout } = await run(program, args, { maxBuffer: 64 * 1024 * 1024 })
  return stdout
}
