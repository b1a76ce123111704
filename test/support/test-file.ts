/** Loaded before a test file: the programs that it starts inherit which file that was, and its priority. */
import { constants, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

/** Environment variables: the file, and whether other files run at the same time. */
export const TEST_FILE = 'TEST_FILE'
export const TEST_TOGETHER = 'TEST_TOGETHER'

const file = process.argv[1]
if (isMainThread && file !== undefined && /\.test\.m?[jt]s$/.test(file)) {
  process.env[TEST_FILE] = file
  // That of the server's readers: otherwise they would get no processor while tests of other files have something to do.
  if (process.env[TEST_TOGETHER] === 'true') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
}
