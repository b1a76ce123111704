// node:http and better-sqlite3 without tokens, rights, limits or a query language: an upper bound, not a peer.
import { createServer } from 'node:http'
import Database from 'better-sqlite3'

const [, , port, file] = process.argv
const db = new Database(file)
db.pragma('journal_mode = WAL')
db.pragma('synchronous = FULL')
const statements = new Map()
const prepared = (sql) => {
  if (!statements.has(sql)) statements.set(sql, db.prepare(sql))
  return statements.get(sql)
}

createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    if (request.method === 'GET') return response.end('{}')
    const { sql, values = [] } = JSON.parse(Buffer.concat(parts).toString())
    response.setHeader('content-type', 'application/json')
    if (request.url === '/execute') return response.end(JSON.stringify(prepared(sql).run(...values)))
    if (request.url === '/query') return response.end(JSON.stringify({ rows: prepared(sql).all(...values) }))
    stream(prepared(sql).iterate(...values), response)
  })
}).listen(Number(port), '127.0.0.1')

function stream(rows, response) {
  const more = () => {
    for (;;) {
      let text = ''
      for (let count = 0; count < 500; count++) {
        const next = rows.next()
        if (next.done) return response.end(text)
        text += `${JSON.stringify(next.value)}\n`
      }
      if (!response.write(text)) return response.once('drain', more)
    }
  }
  more()
}
