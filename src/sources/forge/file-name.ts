import { extname } from 'node:path'

/** As people named it, but no path, nothing that a file system or a terminal would stumble over, and not too long. */
export function fileName(said: string): string {
  const plain = said.replace(/[\p{Cc}\p{Cf}/\\]/gu, '_').trim()
  const short = shortened(plain, 200)
  return short === '' || short === '.' || short === '..' ? 'file' : short
}

/** Keeps the end, which tells what it is. */
function shortened(name: string, bytes: number): string {
  if (Buffer.byteLength(name) <= bytes) return name
  const end = extname(name).slice(0, 20)
  let start = name.slice(0, name.length - end.length)
  while (Buffer.byteLength(start + end) > bytes) start = [...start].slice(0, -1).join('')
  return start + end
}

const TYPES: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.csv': 'text/csv',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.mov': 'video/quicktime',
  '.mp4': 'video/mp4',
  '.patch': 'text/x-diff',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.svg': 'image/svg+xml',
  '.tgz': 'application/gzip',
  '.txt': 'text/plain',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.zip': 'application/zip',
}

/** By its ending: a forge does not say before the bytes come. */
export const contentTypeOf = (name: string): string =>
  TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream'
