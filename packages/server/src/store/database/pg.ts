/** The PostgreSQL driver, loaded on first use: an installation on SQLite never needs it. */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export function loadPg(): typeof import('pg') {
  return require('pg')
}
