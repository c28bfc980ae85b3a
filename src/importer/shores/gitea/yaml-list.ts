import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { yamlJson } from './yaml-json.ts'

const BUFFERED = 64 * 1024

export interface YamlList {
  add(value: unknown): void
  /** Nothing that was not closed is whole. */
  close(): void
}

/** A file with one value on each line. It is made with the first: where there are none, the server wants no file. */
export function yamlList(path: string): YamlList {
  let file: number | undefined
  let text = ''
  const write = () => {
    writeAll(file!, text)
    text = ''
  }
  return {
    add(value) {
      if (file === undefined) {
        mkdirSync(dirname(path), { recursive: true })
        file = openSync(path, 'wx')
        text = '[\n'
      } else text += ',\n'
      text += yamlJson(value)
      if (text.length > BUFFERED) write()
    },
    close() {
      if (file === undefined) return
      text += '\n]\n'
      write()
      closeSync(file)
      file = undefined
    },
  }
}

function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
}
