/**
 * `npm run tools`: runs the real clients of PostgreSQL against a demonstration, and says which were run and which were not. Names choose
 * clients. `--postgres` runs them against a real PostgreSQL 15 instead, which checks the programs themselves; `--record` writes what
 * they send there to test/wire/corpus.
 */
import { type RealPostgres, startRealPostgres } from './postgres.ts'
import { recordClients } from './record.ts'
import { runAgainstGatehouse, runAgainstPostgres } from './try-clients.ts'

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isRecording = process.argv.includes('--record')

const summary =
  isRecording || process.argv.includes('--postgres')
    ? await withPostgres((postgres) =>
        isRecording ? recordClients(postgres, wanted) : runAgainstPostgres(postgres, wanted),
      )
    : await runAgainstGatehouse(wanted)
process.stdout.write(`\n${summary.join('\n')}\n`)
process.exitCode = summary.some((line) => line.startsWith('FAILED')) ? 1 : 0

async function withPostgres(act: (postgres: RealPostgres) => Promise<string[]>): Promise<string[]> {
  const postgres = await startRealPostgres()
  if (postgres === undefined) throw new Error('PostgreSQL 15 is not installed: apt-get install postgresql-15')
  process.stdout.write(`PostgreSQL ${postgres.version}\n`)
  try {
    return await act(postgres)
  } finally {
    await postgres.stop()
  }
}
