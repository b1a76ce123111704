/** A query server in a separate process that tests kill: it prints its address. */
import { startQueryServer } from '../query-server.ts'

const [, , dataFolder = '', databaseUrl = ''] = process.argv
const server = await startQueryServer({ engine: databaseUrl === '' ? 'sqlite' : 'postgres', dataFolder, databaseUrl })
process.stdout.write(`${server.url}\n`)
process.stdin.on('end', () => void server.stop().then(() => process.exit()))
process.stdin.resume()
