/** A worker: computes the value of every trade as it happens, and writes it to the table trade_values, once. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { clientCredentials, Gatehouse } from 'gatehouse-client'

const { GATEHOUSE_SERVER: server = 'http://localhost:5080', CLIENT_SECRET: clientSecret = 'demo-service-secret' } =
  process.env
// Node 20 has no WebSocket.
const { WebSocket = (await import('ws')).default } = globalThis
const auth = clientCredentials({ clientId: 'demo-service', clientSecret })
const gate = new Gatehouse(server, { auth, WebSocket })
gate.on('state', ({ state, reason }) => console.log(`${state}${reason ? `: ${reason}` : ''}`))

await repeat(
  () => gate.query`create table if not exists trade_values (
    trade_id Integer primary key, symbol Text not null, amount Decimal(18, 4) not null
  ) read scope 'Platform/Market' write scope 'Platform/Trading'`,
)
// What an earlier run has done. The table itself is the only state, so the worker can be killed at any time.
const done = new Set()
await repeat(async () => {
  for await (const row of gate.query`select trade_id from trade_values`.stream()) done.add(row.trade_id)
})

// The server multiplies: a Decimal is exact there, and a number here would not be.
const trades = gate.live`select id, symbol, cast(price * quantity as Decimal(18, 4)) as amount from trades`
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => trades.close())
for await (const { put, remove } of trades) {
  // After a long outage the whole result comes again.
  await write(put.filter(({ id }) => !done.has(id)))
  for (const { id } of put) done.add(id)
  for (const { id } of remove) done.delete(id)
}
gate.close()

async function write(rows) {
  if (rows.length === 0) return
  const values = rows.map(({ id, symbol, amount }) => ({ trade_id: id, symbol, amount }))
  // The same key each time: if only the reply was lost, nothing is written again.
  const idempotencyKey = randomUUID()
  await repeat(() => gate.table('trade_values').upload(values, { idempotencyKey }))
  console.log(`wrote ${rows.length}, up to trade ${rows.at(-1).id}`)
}

/** While the server is away. What it refuses is an error. */
async function repeat(act) {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!error.retryable) throw error
      console.log(`${error.message}; trying again`)
      await sleep(1000)
    }
  }
}
