/** `npm run tools`: runs the real clients of PostgreSQL. `--record` writes what they send to test/wire/corpus; names choose clients. */
import { startRealPostgres } from './postgres.ts'
import { recordClients } from './record.ts'

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const postgres = await startRealPostgres()
if (postgres === undefined) throw new Error('PostgreSQL 15 is not installed: apt-get install postgresql-15')
try {
  const summary = await recordClients(postgres, wanted)
  process.stdout.write(`PostgreSQL ${postgres.version}\n${summary.join('\n')}\n`)
} finally {
  await postgres.stop()
}
