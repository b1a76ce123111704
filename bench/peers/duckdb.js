// node:http and DuckDB in one process, with a database file: what a user would write to query columns next to a service.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const [, , port, file, folder] = process.argv
const { DuckDBDataChunk, DuckDBInstance } = createRequire(`${folder}/`)('@duckdb/node-api')
/** DuckDB works on threads of libuv, of which there are four. */
const CONNECTIONS = 4
/** DuckDB's size of a vector. */
const CHUNK_ROWS = 2048

const instance = await DuckDBInstance.create(file)
const free = []
while (free.length < CONNECTIONS) free.push(await instance.connect())
const waiting = []

createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', async () => {
    if (request.method === 'GET') return response.end('{}')
    const own = free.pop() ?? (await new Promise((resolve) => waiting.push(resolve)))
    try {
      const body = JSON.parse(Buffer.concat(parts).toString())
      response.setHeader('content-type', 'application/json')
      if (request.url === '/append') response.end(JSON.stringify({ rows: await append(own, body) }))
      else if (request.url === '/stream') await stream(own, body, response)
      else response.end(JSON.stringify({ rows: await query(own, body) }))
    } catch (error) {
      response.statusCode = 500
      response.end(String(error))
    } finally {
      const next = waiting.shift()
      if (next === undefined) free.push(own)
      else next(own)
    }
  })
}).listen(Number(port), '127.0.0.1')

async function query(connection, { sql }) {
  return (await connection.runAndReadAll(sql)).getRowObjectsJson()
}

/** All rows in one transaction. */
async function append(connection, { table, rows }) {
  const appender = await connection.createAppender(table)
  const types = Array.from({ length: appender.columnCount }, (_, column) => appender.columnType(column))
  for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
    const chunk = DuckDBDataChunk.create(types)
    chunk.setRows(rows.slice(start, start + CHUNK_ROWS))
    appender.appendDataChunk(chunk)
  }
  appender.closeSync()
  return rows.length
}

async function stream(connection, { sql }, response) {
  const result = await connection.stream(sql)
  for await (const rows of result.yieldRowObjectJson()) {
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    if (!response.write(text)) await new Promise((resolve) => response.once('drain', resolve))
  }
  response.end()
}
