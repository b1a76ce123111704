/** A React page: signs in, shows the trades of a symbol and prices that move. */
import { browser, Gatehouse, sql } from 'gatehouse-client'
import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { GatehouseContext, useConnection, useLive, useQuery } from './hooks.js'

const SYMBOLS = ['ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO']
const auth = browser({ clientId: 'demo-spa', scope: 'openid profile offline_access Platform/Market' })
const gate = new Gatehouse('http://localhost:5080', { auth })

// Also finishes a sign-in, when the user comes back from the sign-in page.
const user = await gate.auth.user()
createRoot(document.body).render(
  <StrictMode>
    <GatehouseContext value={gate}>
      <h1>Prices</h1>
      {user === undefined ? <SignIn /> : <Market user={user} />}
    </GatehouseContext>
  </StrictMode>,
)

function SignIn() {
  return (
    <button id="sign-in" type="button" onClick={() => gate.auth.signIn()}>
      Sign in
    </button>
  )
}

function Market({ user }) {
  const [symbol, setSymbol] = useState('ACME')
  return (
    <>
      <p>
        <span id="user">{user.name}</span>{' '}
        <button id="sign-out" type="button" onClick={() => gate.auth.signOut()}>
          Sign out
        </button>
      </p>
      <h2>Live prices</h2>
      <Prices onChoose={setSymbol} />
      <h2>Latest trades of {symbol}</h2>
      <Trades symbol={symbol} />
    </>
  )
}

function Prices({ onChoose }) {
  const connection = useConnection()
  const { rows, error } = useLive(sql`
    select symbol, last(bid, quoted_at) as bid, last(ask, quoted_at) as ask from quotes
    where symbol in (${SYMBOLS}) group by symbol order by symbol`)
  if (error !== undefined) return <Problem error={error} />
  return (
    <>
      <p>
        Connection: <span id="state">{connection}</span>
      </p>
      <table>
        <tbody id="prices">
          {rows.map(({ symbol, bid, ask }) => (
            <tr key={symbol}>
              <td>
                <button type="button" onClick={() => onChoose(symbol)}>
                  {symbol}
                </button>
              </td>
              <td>{bid}</td>
              <td>{ask}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

function Trades({ symbol }) {
  const { rows, error } = useQuery(sql`
    select id, executed_at, side, quantity, price from trades where symbol = ${symbol} order by id desc limit 10`)
  if (error !== undefined) return <Problem error={error} />
  if (rows === undefined) return <p>Loading …</p>
  return (
    <table>
      <tbody id="trades">
        {rows.map(({ id, executed_at: time, side, quantity, price }) => (
          <tr key={id}>
            <td>{new Date(time).toLocaleString()}</td>
            <td>{side}</td>
            <td>{quantity}</td>
            <td>{price}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Problem({ error }) {
  return (
    <p role="alert">
      {error.message}{' '}
      <button type="button" onClick={() => gate.auth.signIn()}>
        Sign in again
      </button>
    </p>
  )
}
