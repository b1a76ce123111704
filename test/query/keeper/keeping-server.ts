/** A query server in a separate process that tests kill: it keeps something, and prints that it is ready, the epochs of its terms, and their ends. */
import { startQueryServer } from '../query-server.ts'

const [, , dataFolder = '', databaseUrl = ''] = process.argv
const server = await startQueryServer({ engine: databaseUrl === '' ? 'sqlite' : 'postgres', dataFolder, databaseUrl })
process.stdout.write('ready\n')
server.service.keeper.keep({
  name: 'test',
  start({ epoch }) {
    process.stdout.write(`${epoch}\n`)
    return () => void process.stdout.write('ended\n')
  },
})
process.on('SIGTERM', () => server.stop().then(() => process.exit(0)))
