import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

/** The highest brotli levels take four times as long for 5 % smaller files, and `npm ci` waits for this. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }
const VARIANTS = {
  '.br': (bytes: Buffer) => promisify(brotliCompress)(bytes, BROTLI),
  '.gz': (bytes: Buffer) => promisify(gzip)(bytes),
}
const COMPRESSIBLE = /\.(html|js|css|svg)$/
const WORTH_IT_BYTES = 1024

/** Writes `.br` and `.gz` files beside every built file, so that the server does not compress. */
export function compressedVariants(): Plugin {
  return {
    name: 'compressed-variants',
    apply: 'build',
    async writeBundle({ dir }) {
      if (dir === undefined) return
      const files = await readdir(dir, { recursive: true })
      await Promise.all(
        files.filter((file) => COMPRESSIBLE.test(file)).map((file) => compress(join(dir, file))),
      )
    },
  }
}

async function compress(file: string): Promise<void> {
  const bytes = await readFile(file)
  if (bytes.length < WORTH_IT_BYTES) return
  await Promise.all(
    Object.entries(VARIANTS).map(async ([ending, compressed]) =>
      writeFile(`${file}${ending}`, await compressed(bytes)),
    ),
  )
}
