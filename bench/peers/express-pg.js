// A typical hand-written server: Express with a connection pool of pg.
import express from 'express'
import pg from 'pg'

const [, , port, url] = process.argv
const pool = new pg.Pool({ connectionString: url, max: 16 })
const app = express()
app.use(express.json({ limit: '8mb' }))
app.get('/', (_request, response) => response.json({}))
app.post('/query', async (request, response, next) => {
  try {
    const { name, sql, values = [] } = request.body
    const { rows } = await pool.query({ name, text: sql, values })
    response.json({ rows })
  } catch (error) {
    next(error)
  }
})
app.listen(Number(port), '127.0.0.1')
