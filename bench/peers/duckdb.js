// node:http and DuckDB in one process, with a database file: what a user would write to query columns beside a service.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const [, , port, file, folder] = process.argv
const { DuckDBInstance } = createRequire(`${folder}/`)('@duckdb/node-api')
const instance = await DuckDBInstance.create(file)
const connection = await instance.connect()

createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', async () => {
    if (request.method === 'GET') return response.end('{}')
    try {
      const { sql } = JSON.parse(Buffer.concat(parts).toString())
      const reader = await connection.runAndReadAll(sql)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ rows: reader.getRowObjectsJson() }))
    } catch (error) {
      response.statusCode = 500
      response.end(String(error))
    }
  })
}).listen(Number(port), '127.0.0.1')
