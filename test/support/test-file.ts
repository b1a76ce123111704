/** Loaded before a test file: the programs that it starts inherit which file that was. */
import { isMainThread } from 'node:worker_threads'

/** The environment variable. */
export const TEST_FILE = 'TEST_FILE'

const file = process.argv[1]
if (isMainThread && file !== undefined && /\.test\.m?[jt]s$/.test(file)) process.env[TEST_FILE] = file
