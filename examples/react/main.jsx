/** A React page: signs in, shows the trades of a symbol and prices that move. */
import { browser, Gatehouse, sql } from 'gatehouse-client'
import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { GatehouseContext, useConnection, useFeed, useLive, useQuery, useUser } from './hooks.js'

const SYMBOLS = ['ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO']
const auth = browser({ clientId: 'demo-spa', scope: 'openid profile offline_access Platform/Market' })
const gate = new Gatehouse('http://localhost:5080', { auth })

createRoot(document.body).render(
  <StrictMode>
    <GatehouseContext value={gate}>
      <h1>Prices</h1>
      <App />
    </GatehouseContext>
  </StrictMode>,
)

function App() {
  const { user, error, isKnown, retry, signIn, signOut } = useUser()
  if (!isKnown) return <p>Loading …</p>
  if (user !== undefined) return <Market user={user} onSignOut={signOut} />
  return (
    <>
      {error !== undefined && <p role="alert">{error.message}</p>}
      <button id="sign-in" type="button" onClick={signIn}>
        Sign in
      </button>{' '}
      {/* For example while the server restarts. */}
      {error?.retryable && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </>
  )
}

function Market({ user, onSignOut }) {
  const [symbol, setSymbol] = useState('ACME')
  return (
    <>
      <p>
        <span id="user">{user.name}</span>{' '}
        <button id="sign-out" type="button" onClick={onSignOut}>
          Sign out
        </button>
      </p>
      <h2>Live prices</h2>
      <Prices onChoose={setSymbol} />
      <h2>Ticker of {symbol}</h2>
      <Ticker symbol={symbol} />
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

/** Messages of a feed, where Prices shows the rows of a table. */
function Ticker({ symbol }) {
  const { value, error } = useFeed('Ticker', `Price/${symbol}`)
  if (error !== undefined) return <Problem error={error} />
  if (value === undefined) return <p>Waiting for the first message …</p>
  return (
    <p id="ticker">
      {value.Bid} – {value.Ask}
    </p>
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

/** What ended a query or a subscription. To begin again, the page is loaded again: there the user can also sign in. */
function Problem({ error }) {
  return (
    <p role="alert">
      {error.message}{' '}
      <button type="button" onClick={() => location.reload()}>
        Try again
      </button>
    </p>
  )
}
