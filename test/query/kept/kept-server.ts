/** A query server in a separate process that tests kill: it writes without a pause to a table whose views are kept, and prints each commit. */
import { startQueryServer } from '../query-server.ts'

const [, , dataFolder = '', databaseUrl = '', first = '0'] = process.argv
const server = await startQueryServer({ engine: databaseUrl === '' ? 'sqlite' : 'postgres', dataFolder, databaseUrl })
process.stdout.write('ready\n')
for (let id = Number(first); ; id++) {
  const at = new Date(Date.parse('2026-01-05T10:00:00Z') + (id % 500) * 1000).toISOString()
  const statement =
    id % 5 === 4
      ? `UPDATE trades SET symbol = 'M', quantity = quantity + 1 WHERE id % 17 = ${id % 17}`
      : `INSERT INTO trades (id, symbol, quantity, at) VALUES (${id}, '${'ABC'[id % 3]}', ${id % 7}, '${at}')`
  const { status, text } = await server.query(statement)
  process.stdout.write(status === 200 ? `${id}\n` : `${text}\n`)
}
