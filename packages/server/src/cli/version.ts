/** `gatehouse --version`: the version, and what this program is made of. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { VERSION } from 'gatehouse-protocol'
import { BILL_OF_MATERIALS, PACKAGE_MANIFEST, TIME_ZONES } from '../lib/program-files.ts'
import { MIGRATIONS } from '../store/database/migrations.ts'

export function describeVersion(): string {
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(readFileSync(PACKAGE_MANIFEST, 'utf8'))
  const packages = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`)
  const { node, openssl, v8 } = process.versions
  return [
    `gatehouse ${VERSION}`,
    `schema    ${MIGRATIONS.length} of the identity database`,
    `runtime   Node ${node}, V8 ${v8}, OpenSSL ${openssl}, SQLite ${sqliteVersion()}`,
    `packages  ${packages.join(', ')}`,
    `zones     ${readFileSync(TIME_ZONES, 'utf8').split('\n', 1)[0]} of IANA’s time zone database`,
    ...(existsSync(BILL_OF_MATERIALS) ? [`materials ${fileURLToPath(BILL_OF_MATERIALS)} (CycloneDX)`] : []),
    '',
  ].join('\n')
}

function sqliteVersion(): unknown {
  const database = new Database(':memory:')
  try {
    return database.prepare('select sqlite_version()').pluck().get()
  } finally {
    database.close()
  }
}
