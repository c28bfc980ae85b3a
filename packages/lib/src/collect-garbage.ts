import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Collects the garbage of an idle thread, which V8 would keep because the thread allocates nothing. `last-resort` also compacts the heap.
 * V8's `gc` is exposed only while it is read: on the command line, the flag makes a start 60 ms longer.
 */
export function collectGarbage(flavor: 'regular' | 'last-resort'): void {
  setFlagsFromString('--expose-gc')
  // Undefined if another thread has reset the flag, which all threads share.
  const gc: NodeJS.GCFunction | undefined = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  gc?.({ type: 'major', execution: 'sync', flavor })
}
