import { gzipSync } from 'node:zlib'

/** How one entry is written, by any tar program of the last decades. */
export interface UnusualEntry {
  path: string
  kind: 'file' | 'directory'
  content: Buffer
  /** The prefix of the path. */
  pathPrefix: '' | './' | './/'
  /** The type flag of a file: current, oldest, or contiguous. In the oldest format, only the slash marks a directory. */
  type: '0' | '\0' | '7'
  magic: 'posix' | 'gnu' | 'v7'
  /** How a long path is written: as a pax header or a GNU long name. */
  name: 'pax' | 'gnu'
  numbers: 'octal' | 'spaces' | 'base-256' | 'pax'
  /** Whether irrelevant headers precede the entry. */
  extraHeaders: boolean
}

const MAGIC = { posix: 'ustar\x0000', gnu: 'ustar  \0', v7: '\0'.repeat(8) }

export function unusualTar(entries: readonly UnusualEntry[], zeroBlocks = 2): Buffer {
  const blocks = entries.flatMap(entryBlocks)
  return Buffer.concat([...blocks, Buffer.alloc(512 * zeroBlocks)])
}

/** Compresses the bytes into this many gzip members, followed by zeros. */
export function unusualGzip(tar: Buffer, members: number, padding = 0): Buffer {
  const each = Math.ceil(tar.length / members)
  const parts = Array.from({ length: members }, (_, n) => tar.subarray(n * each, (n + 1) * each))
  return Buffer.concat([...parts.map((part) => gzipSync(part)), Buffer.alloc(padding)])
}

function entryBlocks({ path, kind, content, pathPrefix, ...how }: UnusualEntry): Buffer[] {
  const written = Buffer.from(
    kind === 'directory' ? `${pathPrefix}${path}/` : `${pathPrefix}${path}`,
  )
  const before: Buffer[] = []
  const pax: [key: string, value: string][] = []
  if (how.extraHeaders) {
    before.push(...headerRecord('g', paxContent([['comment', 'chatter']])))
    before.push(...headerRecord('K', Buffer.from('a link that leads nowhere\0')))
    pax.push(['mtime', '1000000000.123'], ['SCHILY.xattr.user.x', 'a\nb=c'], ['uname', 'nobody'])
  }
  if (how.numbers === 'pax') pax.push(['size', String(content.length)])
  if (written.length > 100) {
    if (how.name === 'pax') pax.push(['path', written.toString()])
    else before.push(...headerRecord('L', Buffer.concat([written, Buffer.alloc(1)])))
  }
  if (pax.length > 0) before.push(...headerRecord('x', paxContent(pax)))
  const block = unusualHeader({
    name: written.subarray(0, 100),
    type: kind === 'file' ? how.type : how.magic === 'v7' ? '\0' : '5',
    magic: how.magic,
    size: how.numbers === 'pax' ? octal(0) : sizeField(content.length, how.numbers),
  })
  return [...before, block, content, padding(content.length)]
}

interface HeaderFields {
  name: Buffer
  type: string
  magic: UnusualEntry['magic']
  /** A field of 12 bytes. */
  size: Buffer
}

export function unusualHeader({ name, type, magic, size }: HeaderFields): Buffer {
  const block = Buffer.alloc(512)
  name.copy(block, 0)
  block.write('0000644\0', 100)
  size.copy(block, 124)
  block.write('07346545000\0', 136)
  block.write(type, 156, 'latin1')
  block.write(MAGIC[magic], 257, 'latin1')
  // GNU tar has times where POSIX has the prefix; they are not part of the name.
  if (magic === 'gnu') block.write('07346545000\0', 345)
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

export function headerRecord(type: string, content: Buffer): Buffer[] {
  const name = Buffer.from(type === 'x' ? './PaxHeaders/x' : '././@LongLink')
  const block = unusualHeader({ name, type, magic: 'posix', size: octal(content.length) })
  return [block, content, padding(content.length)]
}

export function paxContent(records: readonly [key: string, value: string][]): Buffer {
  return Buffer.concat(
    records.map(([key, value]) => {
      const rest = Buffer.byteLength(` ${key}=${value}\n`)
      let length = rest + 1
      while (String(length).length + rest !== length) length = String(length).length + rest
      return Buffer.from(`${length} ${key}=${value}\n`)
    }),
  )
}

const padding = (size: number) => Buffer.alloc((512 - (size % 512)) % 512)
const octal = (value: number) => Buffer.from(`${value.toString(8).padStart(11, '0')}\0`)

export function sizeField(value: number, how: 'octal' | 'spaces' | 'base-256'): Buffer {
  if (how === 'octal') return octal(value)
  if (how === 'spaces') return Buffer.from(`${value.toString(8).padStart(11, ' ')} `)
  const field = Buffer.alloc(12)
  field[0] = 0x80
  field.writeBigUInt64BE(BigInt(value), 4)
  return field
}
