/** An Express application: people sign in, it queries with their rights, and its page shows prices that move. */
import { once } from 'node:events'
import express from 'express'
import { page } from './page.js'
import { origin, port } from './settings.js'
import { findVisitor, forget, signIn } from './sign-in.js'

const app = express()
app.use(signIn)

app.get('/', (request, response, next) => {
  showPage(request, response).catch(next)
})

app.get('/prices', (request, response, next) => {
  sendPrices(request, response).catch(next)
})

app.use((error, request, response, _next) => {
  // The browser has left, or signed out.
  if (error.name === 'AbortError' || error.code === 'client.closed') return response.end()
  console.error(error)
  // Signed out elsewhere, or ended by an operator: begin again.
  if (error.name === 'AuthError') forget(request)
  if (response.headersSent) response.end()
  // The server says why it refused a sign-in, for example that the user has cancelled it. The page has a link to try again.
  else response.status(500).send(page({ problem: error.error_description ?? error.message }))
})

app.listen(Number(port), 'localhost', () => console.log(`Open ${origin}/`))

async function showPage(request, response) {
  const visitor = findVisitor(request)
  if (visitor === undefined) return response.send(page())
  const trades = await visitor.gate.query`
    select executed_at, symbol, side, quantity, price from trades order by id desc limit 10`
  response.send(page({ user: visitor.user, trades }))
}

/** Server-sent events, each with all prices. A browser that reads slowly gets fewer, newer ones. */
async function sendPrices(request, response) {
  const visitor = findVisitor(request)
  if (visitor === undefined) return response.sendStatus(401)
  const left = new AbortController()
  response.on('close', () => left.abort())
  const live = visitor.gate.live({ maxRate: 5, signal: left.signal })`
    select symbol, last(bid, quoted_at) as bid, last(ask, quoted_at) as ask from quotes
    where symbol in ('ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO') group by symbol order by symbol`
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  for await (const _ of live) {
    if (!response.write(`data: ${JSON.stringify(live.rows)}\n\n`)) await once(response, 'drain', left)
  }
}
