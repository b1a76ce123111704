/** A page without a framework: signs in, runs a query, and shows prices that move. */
import { browser, Gatehouse } from 'gatehouse-client'

const SYMBOLS = ['ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO']
const auth = browser({ clientId: 'demo-spa', scope: 'openid profile offline_access Platform/Market' })
const gate = new Gatehouse('http://localhost:5080', { auth })
const element = (id) => document.getElementById(id)
let prices

element('sign-in').onclick = () => gate.auth.signIn().catch(show)
element('sign-out').onclick = () => {
  prices?.close()
  gate.auth.signOut().catch(show)
}
element('symbol').append(...SYMBOLS.map((symbol) => new Option(symbol)))
element('symbol').onchange = () => showTrades().catch(show)
gate.on('state', ({ state }) => {
  element('state').textContent = state
})

// Rejects if the sign-in was cancelled or refused, if a right is missing, or without a connection.
await begin().catch(show)

async function begin() {
  // Also finishes a sign-in, when the user comes back from the sign-in page.
  const user = await gate.auth.user()
  element(user === undefined ? 'sign-in' : 'sign-out').hidden = false
  if (user === undefined) return
  element('user').textContent = user.name
  document.querySelector('main').hidden = false
  await Promise.all([showTrades(), followPrices()])
}

async function showTrades() {
  const { value: symbol } = element('symbol')
  const trades = await gate.query`
    select executed_at, side, quantity, price from trades where symbol = ${symbol} order by id desc limit 10`
  element('trades').replaceChildren(
    ...trades.map(({ executed_at: time, side, quantity, price }) =>
      row([new Date(time).toLocaleString(), side, quantity, price]),
    ),
  )
}

/** Goes on as long as the page: a lost connection is opened again, and what was missed is sent. */
async function followPrices() {
  prices = gate.live({ maxRate: 5 })`
    select symbol, last(bid, quoted_at) as bid, last(ask, quoted_at) as ask from quotes
    where symbol in (${SYMBOLS}) group by symbol order by symbol`
  const shown = new Map()
  for await (const { put } of prices) {
    for (const price of put) {
      const before = shown.get(price.symbol)
      const drawn = row([price.symbol, price.bid, price.ask])
      if (before !== undefined) drawn.className = Number(price.bid) < Number(before.price.bid) ? 'down' : 'up'
      shown.set(price.symbol, { price, drawn })
    }
    element('prices').replaceChildren(...prices.rows.map(({ symbol }) => shown.get(symbol).drawn))
  }
}

function row(cells) {
  const drawn = document.createElement('tr')
  for (const cell of cells) drawn.insertCell().textContent = cell
  return drawn
}

function show(error) {
  element('problem').textContent = `${error.message}\n${error.caret ?? error.hint ?? ''}`
  // The way to try again, unless somebody is signed in and has only met another problem.
  element('sign-in').hidden = !element('sign-out').hidden && error.name !== 'AuthError'
}
