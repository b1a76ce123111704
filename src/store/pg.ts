/** The driver of PostgreSQL, loaded by the first who needs it: an installation on SQLite never does. */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export function loadPg(): typeof import('pg') {
  return require('pg')
}
