import { cpus, release, totalmem } from 'node:os'
import { run } from './measure.ts'

interface NewSection {
  name: string
  /** The names of all sections, in the order of the results. */
  order: readonly string[]
  text: string
  /** When it was measured, and the load of the machine. */
  conditions: string
}

/** Returns the results with this section added or replaced. */
export async function replaceSection(
  before: string,
  { name, order, text, conditions }: NewSection,
): Promise<string> {
  const sections = new Map(
    Array.from(
      before.matchAll(/<!-- (\w+) -->\n(.*?)<!-- end of \1 -->\n/gs),
      ([, found, kept]) => [found!, kept!],
    ),
  )
  const [title, ...rest] = text.split('\n')
  sections.set(name, [title, '', `_${conditions}; ${await machine()}_`, ...rest].join('\n'))
  const kept = order
    .filter((each) => sections.has(each))
    .map((each) => `<!-- ${each} -->\n${sections.get(each)}<!-- end of ${each} -->\n`)
  return `# Side by side

Written by \`npm run bench\`, not by hand; [README.md](README.md) explains how to read it. All servers and tools are measured in the same run on the
same machine.

${kept.join('\n')}`
}

export async function machine(): Promise<string> {
  const [first, ...others] = cpus()
  const memory = `${(totalmem() / 1e9).toFixed(0)} GB of memory`
  const versions = `Linux ${release()}, Node ${process.version}, ${await run('git', ['--version'])}`
  return `${others.length + 1} × ${first?.model.trim()}, ${memory}, ${versions}`
}
