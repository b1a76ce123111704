// PGlite in memory: updates rows of a table that an incremental live query watches.
import { createServer } from 'node:http'
import { PGlite } from '@electric-sql/pglite'
import { live } from '@electric-sql/pglite/live'

const db = await PGlite.create({ extensions: { live } })
await db.exec('CREATE TABLE counters (id integer PRIMARY KEY, g integer NOT NULL, n integer NOT NULL)')
await db.exec('INSERT INTO counters SELECT id, id % 10, 0 FROM generate_series(0, 999) AS id')

let held = []
await db.live.incrementalQuery({
  query: 'SELECT id, n FROM counters WHERE g = 1',
  params: [],
  key: 'id',
  callback: ({ rows }) => {
    held = rows
  },
})

const update = (count) => db.query('UPDATE counters SET n = $1 WHERE id = $2', [count, 1 + (count % 100) * 10])

async function run(changes) {
  for (let count = 1; count <= 100; count++) await update(count + 1e6)
  const started = performance.now()
  for (let count = 1; count <= changes; count++) await update(count)
  const id = 1 + (changes % 100) * 10
  while (held.find((row) => row.id === id)?.n !== changes) await new Promise((resolve) => setTimeout(resolve, 1))
  return (performance.now() - started) / 1000
}

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  const seconds = pathname === '/run' ? await run(Number(searchParams.get('changes'))) : 0
  response.end(JSON.stringify({ seconds }))
}).listen(Number(process.argv[2]), '127.0.0.1')
