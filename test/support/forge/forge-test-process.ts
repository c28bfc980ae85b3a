import { addManyIssues } from './many-issues.ts'
import { startForge } from './stand-in-forge.ts'

/** A stand-in in a process of its own, with so many issues; prints where it is, and ends with its standard input. */
const forge = await startForge()
forge.keepsRequests = false
addManyIssues(forge, Number(process.argv[2]))
process.stdout.write(`${forge.url}\n`)
process.stdin.resume()
process.stdin.once('end', () => process.exit())
