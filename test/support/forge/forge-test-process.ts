import { startForge } from './fake-forge.ts'
import { addManyIssues } from './many-issues.ts'

/**
 * Starts a fake forge with this many issues, with texts of this many characters, in its own process, prints its address, and exits when standard
 * input ends.
 */
const forge = await startForge()
forge.recordsRequests = false
addManyIssues(forge, Number(process.argv[2]), Number(process.argv[3] ?? 0))
process.stdout.write(`${forge.url}\n`)
process.stdin.resume()
process.stdin.once('end', () => process.exit())
